"""Lists: newest first, a page at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Protocol, TypeVar

from fastapi import Query
from pydantic import BaseModel, Field

ID_PATTERN = r"^[a-z]{2,8}_[0-9a-z]{1,32}$"


class PageQuery(BaseModel):
    """Query parameters of every list."""

    limit: int = Field(default=50, ge=1, le=200, description="Rows of one page.")
    after: str | None = Field(default=None, pattern=ID_PATTERN, description="`next` of the page before.")


PageParameters = Annotated[PageQuery, Query()]


class WithId(Protocol):
    """Anything that has an id."""

    @property
    def id(self) -> str:
        """The id."""


RowT = TypeVar("RowT", bound=WithId)


def page(rows: Sequence[RowT], limit: int, show: Callable[[RowT], BaseModel]) -> dict[str, Any]:
    """The contract's list. ``rows`` are up to ``limit + 1``: one more than shown tells whether there are more."""
    shown = rows[:limit]
    more = len(rows) > limit
    return {"data": [show(row) for row in shown], "has_more": more, "next": shown[-1].id if more else None}
