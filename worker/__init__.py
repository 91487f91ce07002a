"""The Celery side: a worker claims jobs and runs each in a child process."""
