"""The HTTP API: one folder a noun."""
