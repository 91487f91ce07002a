"""Webhooks: messages to an address that a job names, sent when the job has ended."""
