"""The service as its users meet it: processes, HTTP, the command."""
