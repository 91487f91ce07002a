"""What the readers of several formats share: mapped files, limits, stored tensors, zip archives, names and values."""
