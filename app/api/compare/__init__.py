"""Comparison: the points of several jobs in one plot and in one table."""
