"""API keys over HTTP, for administrators."""
