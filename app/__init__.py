"""The front end: HTTP API, command line, and the core that workers share."""
