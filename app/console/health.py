"""Findings about an installation and a server, as ``cnet doctor`` shows them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class State(StrEnum):
    """How serious a finding is."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """What a check has found.

    Attributes:
        name: of what was checked.
        state: how serious it is.
        detail: what was found.
        remedy: what to do; empty where nothing has to be done.
    """

    name: str
    state: State
    detail: str
    remedy: str = ""

    @classmethod
    def problem(cls, name: str, detail: str) -> Finding:
        """The finding for the message of an error: its first sentence says what is wrong, the others what to do."""
        found, stop, remedy = detail.partition(". ")
        return cls(name, State.PROBLEM, found if stop else detail.rstrip("."), remedy or "Ask whoever runs it.")

    def row(self) -> tuple[str, str, str]:
        """The finding as cells of a table."""
        return self.state.value, self.name, f"{self.detail}. {self.remedy}" if self.remedy else self.detail

    def document(self) -> dict[str, Any]:
        """The finding as JSON."""
        return asdict(self)
