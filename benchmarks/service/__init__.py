"""Measurements of the service under load: ``python -m benchmarks.service``."""
