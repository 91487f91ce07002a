"""The HTTP API: a folder for each noun of its routes, and what they share."""
