"""Lists in pages, newest first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Protocol, TypeVar

from fastapi import Query
from pydantic import BaseModel, Field

from app.core.ownership import OwnerFilter

ID_PATTERN = r"^[a-z]{2,8}_[0-9a-z]{1,32}$"


class PageQuery(BaseModel):
    """Query parameters of every list."""

    limit: int = Field(default=50, ge=1, le=200, description="Number of entries on one page.")
    after: str | None = Field(
        default=None, pattern=ID_PATTERN, description="Continue after this id: the `next` of the page before."
    )


class OwnedPageQuery(PageQuery):
    """Query parameters of every list of objects that have an owner."""

    owner: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        pattern=r"^[^\x00-\x1f]*$",
        description="Only objects of this owner. Keys with the scope admin list those of all owners, others their own.",
    )


PageParameters = Annotated[PageQuery, Query()]
OwnedPageParameters = Annotated[OwnedPageQuery, Query()]


class WithId(Protocol):
    """A row with an id."""

    @property
    def id(self) -> str:
        """The id."""


RowT = TypeVar("RowT", bound=WithId)
FindRows = Callable[[OwnerFilter, int, str | None], Sequence[RowT]]


def owned_rows(find: FindRows[RowT], owner: OwnerFilter, query: OwnedPageQuery) -> Sequence[RowT]:
    """The rows of one page, and one more where there is another page.

    Args:
        find: finds rows by owner (None: of all owners), largest number of rows, and the id after which they begin.
        owner: whose objects the sender of the request may see; None: those of all owners. A query for another owner's
            finds nothing.
        query: the query parameters.
    """
    if owner is not None and query.owner not in (None, owner):
        return []
    return find(owner or query.owner, query.limit + 1, query.after)


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
