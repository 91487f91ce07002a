"""Webhooks: the messages about jobs that have ended, and the secret that signs them."""
