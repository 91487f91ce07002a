"""The Celery side of the service: workers claim jobs and run each job in a child process."""
