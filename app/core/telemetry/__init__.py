"""What whoever runs the service sees of it: the lines of its log, and what links those of one request."""
