"""Acceptance tests of the service as users run it: processes, HTTP, the command."""
