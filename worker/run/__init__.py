"""One job: it is claimed, run in a child process, monitored, and its outcome is recorded."""
