"""Jobs: compressing a checkpoint, or training and compressing a network."""
