"""Checkpoints: a trained model's weights."""
