"""The JSON of API keys."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, Field, field_validator

from app.core.clock import rfc3339
from app.core.keys import ApiKey
from cnet.documents import UserDocument
from cnet.parts.validation import parsed


class KeyRequest(UserDocument):
    """A new key."""

    owner: str = Field(
        min_length=1,
        max_length=200,
        description="Owner of the key, who sees only their own objects unless the scope is admin.",
    )
    scope: Literal["read", "write", "admin"] = Field(
        default="write", description="What the key allows; each scope includes the ones before it."
    )

    @field_validator("owner")
    @classmethod
    def _check_owner(cls, owner: str) -> str:
        if owner != owner.strip() or not owner.isprintable():
            raise ValueError("it begins or ends with a space, or has control characters. Give a plain name.")
        return owner

    @classmethod
    def parse(cls, document: Any) -> Self:
        """The request of a JSON value. Raises SpecError."""
        return parsed(cls, document, "the key", code="invalid")


class KeyView(BaseModel):
    """An API key without its secret."""

    id: str = Field(description="Id of the key, `key_...`.")
    owner: str = Field(description="Owner of the key.")
    scopes: list[str] = Field(description="What the key allows: `read`, `write` or `admin`.")
    created_at: str | None = Field(description="Time of creation.")
    revoked_at: str | None = Field(description="Time of its revocation; null: it is valid.")

    @classmethod
    def of(cls, stored: ApiKey, /, **more: Any) -> Self:
        """The JSON of a stored key."""
        return cls(
            id=stored.id,
            owner=stored.owner,
            scopes=list(stored.scopes),
            created_at=rfc3339(stored.created_at),
            revoked_at=rfc3339(stored.revoked_at),
            **more,
        )


class NewKeyView(KeyView):
    """A new API key."""

    key: str | None = Field(
        description="The secret, which is shown only once: null in the answer to a repetition of the same request."
    )


class KeyList(BaseModel):
    """A page of keys, newest first."""

    data: list[KeyView] = Field(description="The keys of this page, those of all owners.")
    has_more: bool = Field(description="Whether there is another page.")
    next: str | None = Field(description="Value of `after` for the next page; null: there is none.")
