"""Maintenance that every worker does beside its jobs: recovery of lost jobs, unsent messages, deletion of old data."""
