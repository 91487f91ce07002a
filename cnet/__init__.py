"""Compress trained networks: prune, quantize, encode; and read what comes out."""
