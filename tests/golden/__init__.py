"""Bundles that were written once and are read for ever."""
