"""HTTP: request bodies, file responses, problem documents, pages of lists, idempotency."""
