"""Workers: the processes that run jobs."""
