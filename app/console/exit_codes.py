"""Exit codes of the command."""

DONE, FAILED, USAGE, CANCELLED, TIMED_OUT = range(5)
