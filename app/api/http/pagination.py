"""Lists in pages, newest first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Protocol, TypeVar

from fastapi import Query
from pydantic import BaseModel, Field

ID_PATTERN = r"^[a-z]{2,8}_[0-9a-z]{1,32}$"


class PageQuery(BaseModel):
    """Query parameters of every list."""

    limit: int = Field(default=50, ge=1, le=200, description="Number of entries on one page.")
    after: str | None = Field(
        default=None, pattern=ID_PATTERN, description="Continue after this id: the `next` of the page before."
    )


PageParameters = Annotated[PageQuery, Query()]


class WithId(Protocol):
    """A row with an id."""

    @property
    def id(self) -> str:
        """The id."""


RowT = TypeVar("RowT", bound=WithId)


def page(rows: Sequence[RowT], limit: int, show: Callable[[RowT], BaseModel]) -> dict[str, Any]:
    """One page of a list, as JSON.

    Args:
        rows: up to ``limit + 1`` rows; the last one only shows that there are more.
        limit: number of rows on the page.
        show: makes the JSON of a row.
    """
    shown = rows[:limit]
    more = len(rows) > limit
    return {"data": [show(row) for row in shown], "has_more": more, "next": shown[-1].id if more else None}
