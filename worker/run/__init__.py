"""One job: claimed, run in a child process, watched, reported."""
