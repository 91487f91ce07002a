"""What keeps the service going: lost jobs, unsent messages, old data."""
