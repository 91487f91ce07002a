"""How a runner tells its supervisor that it ended: its exit codes. Any other code, or a signal, is a crash."""

from __future__ import annotations

#: the end of the job is recorded
ENDED = 0
#: stopped on SIGTERM; what was saved can be resumed; nothing is recorded
STOPPED = 3
#: another attempt holds the job; nothing was or will be written
FENCED = 4
