"""Data sets: labelled images to train on and to measure accuracy with."""
