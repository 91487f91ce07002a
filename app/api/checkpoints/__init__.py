"""Checkpoints: the weights of trained models."""
