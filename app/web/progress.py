"""How far a job is: its phases, the time that they took, and the time that is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from app.core.jobs import Event, Job
from app.core.states import Status

_SURE_ENOUGH = 0.03  # progress below which the time left is not told
_ORDER = (
    *("load", "baseline", "transform", "calibrate", "finetune", "proximal", "prune", "recover"),
    *("quantize", "encode", "evaluate", "publish"),
)


@dataclass(frozen=True)
class Progress:
    """How far a job is.

    Attributes:
        fraction: of the work that is done, 0 to 1.
        seconds: that it has run, waiting in the queue not counted.
        seconds_left: an estimate; None where nothing can be told yet, or nothing is left.
    """

    fraction: float
    seconds: float | None
    seconds_left: float | None

    @classmethod
    def of(cls, job: Job, now: datetime) -> Self:
        """The progress of a job at the time ``now``."""
        if job.started_at is None:
            return cls(job.progress, None, None)
        ran = job.ran_seconds + max(((job.ended_at or now) - job.started_at).total_seconds(), 0.0)
        running = job.status is Status.RUNNING and job.progress >= _SURE_ENOUGH
        return cls(job.progress, ran, ran * (1 - job.progress) / job.progress if running else None)


@dataclass(frozen=True)
class Phase:
    """A phase of a job.

    Attributes:
        name: of the phase.
        times: how often it began; most are run again for each sparsity or each point.
        seconds: that it took so far, all times together.
        current: whether the job is in it.
    """

    name: str
    times: int
    seconds: float
    current: bool


def phases_of(job: Job, events: Sequence[Event], now: datetime) -> list[Phase]:
    """The phases that a job went through, in the order of the pipeline.

    Args:
        job: the job.
        events: its events of the type ``phase``, oldest first.
        now: the current time, until which the last phase of a running job lasts.
    """
    ends = [*(event.at for event in events[1:]), job.ended_at or now]
    seconds: dict[str, float] = {}
    times: dict[str, int] = {}
    for event, end in zip(events, ends, strict=False):
        name = str(event.data.get("phase"))
        seconds[name] = seconds.get(name, 0.0) + max((end - event.at).total_seconds(), 0.0)
        times[name] = times.get(name, 0) + 1
    current = None if job.status.final else job.phase
    order = sorted(seconds, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))
    return [Phase(name, times[name], seconds[name], name == current) for name in order]
