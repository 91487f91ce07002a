"""The catalogue: what a job can be made of."""
