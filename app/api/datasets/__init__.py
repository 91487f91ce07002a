"""Data sets: labelled images for training and for measuring accuracy."""
