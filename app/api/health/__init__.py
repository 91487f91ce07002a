"""Health: whether the server lives, and whether it can take work."""
