"""The calls of the HTTP API, one module a noun, as coroutines."""
