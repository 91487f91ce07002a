"""Steps that a worker repeats at regular intervals beside its jobs."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping

from app.core.db.engine import TRANSIENT
from app.core.errors import UnavailableError
from app.core.telemetry.logs import get_logger

log = get_logger(__name__)

Step = Callable[[], object]


class PeriodicSteps:
    """Named steps that a thread runs one after the other, at regular intervals; a failed step does not stop the others.

    No thread of this process may hold a lock while Celery forks a pool process: in the child that lock would be held
    for ever. Therefore a fork waits for the end of the current step.

    Args:
        name: name of the thread.
        steps: what to do, by names that log messages use.
        seconds: pause between two rounds.

    """

    def __init__(self, name: str, steps: Mapping[str, Step], seconds: float) -> None:
        self._steps = steps
        self._seconds = seconds
        self._ended = threading.Event()
        self._working = threading.RLock()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        os.register_at_fork(
            before=self._working.acquire,
            after_in_parent=self._working.release,
            after_in_child=self._working.release,
        )
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """Stop the thread; wait for the current step, for at most ``seconds``."""
        self._ended.set()
        self._thread.join(seconds)

    def run_once(self) -> None:
        """Run each step once."""
        for name, step in self._steps.items():
            if self._ended.is_set():
                return
            with self._working:
                try:
                    step()
                except (*TRANSIENT, UnavailableError) as error:  # an outage of a server, which every step would log
                    log.warning("a step waits for the next round", step=name, cause=_outage(error))
                except Exception:  # the other steps must go on, whatever it is
                    log.exception("a step has failed; it is tried again in the next round", step=name)

    def _run(self) -> None:
        while not self._ended.is_set():
            self.run_once()
            self._ended.wait(self._seconds)


def _outage(error: Exception) -> str:
    """What does not answer. The message of the database's driver is left out: it has many lines."""
    return str(error) if isinstance(error, UnavailableError) else f"the database: {type(error).__name__}"
