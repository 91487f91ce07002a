"""Work that is done again and again beside the worker's real work."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping

log = logging.getLogger(__name__)

Step = Callable[[], object]


class Rounds:
    """Named steps, done one after the other again and again in a thread; a step that fails stops no other.

    No thread of this process may hold a lock while Celery forks a pool process, or the child starts with that lock
    held for ever. So a fork waits for the end of the step under way.
    """

    def __init__(self, name: str, steps: Mapping[str, Step], seconds: float) -> None:
        self._steps = steps
        self._seconds = seconds
        self._ended = threading.Event()
        self._working = threading.RLock()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        os.register_at_fork(
            before=self._working.acquire,
            after_in_parent=self._working.release,
            after_in_child=self._working.release,
        )
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """End, after the step under way or ``seconds``."""
        self._ended.set()
        self._thread.join(seconds)

    def once(self) -> None:
        """One round."""
        for name, step in self._steps.items():
            if self._ended.is_set():
                return
            with self._working:
                try:
                    step()
                except Exception:  # whatever it is, the other steps must go on
                    log.exception("%s failed; it is tried again", name)

    def _run(self) -> None:
        while not self._ended.is_set():
            self.once()
            self._ended.wait(self._seconds)
