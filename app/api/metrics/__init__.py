"""Numbers of the service for Prometheus."""
