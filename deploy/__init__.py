"""Files for deployments, and a replay of the Dockerfile without Docker."""
