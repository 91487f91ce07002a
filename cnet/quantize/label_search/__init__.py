"""The search for the labels of least error and rate, along the paths of a trellis."""
