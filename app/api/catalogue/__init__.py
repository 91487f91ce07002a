"""The catalogue: which parts a job can name, and what the server accepts."""
