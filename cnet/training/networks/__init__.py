"""Networks as PyTorch modules: how they are built, and how weights get into them and out again."""
