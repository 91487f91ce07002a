"""Health: whether the server runs, and whether it can take jobs."""
