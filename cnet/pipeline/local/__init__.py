"""Compress on this machine, without a server: a file, or a PyTorch module."""
