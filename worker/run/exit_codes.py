"""Exit codes of a runner, by which it tells its supervisor how it ended. Any other code, or a signal, is a crash."""

from __future__ import annotations

#: The end of the job is recorded.
RECORDED = 0
#: Stopped on SIGTERM: nothing is recorded, and the next attempt resumes from the last saved state.
STOPPED = 3
#: Another attempt holds the job: nothing is recorded.
FENCED = 4
