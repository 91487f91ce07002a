"""How a command ends, for scripts."""

DONE, FAILED, USAGE, CANCELLED, TIMED_OUT = range(5)
