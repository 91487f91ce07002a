"""The errors of bundles that are damaged or forged; each says what to do."""

from __future__ import annotations

from pydantic import ValidationError

from cnet.errors import BundleError
from cnet.formats.parsing.quoting import quoted

_LONGEST_PLACE = 120


def damaged(what: str) -> BundleError:
    """The error for bytes that changed after the bundle was written, such as ``the header of mask``."""
    return BundleError(
        f"bundle: {what} changed after it was written, so the file is damaged. Copy or download it again."
    )


def inconsistent(what: str) -> BundleError:
    """The error for a bundle whose parts cannot belong together, such as ``the digests are too few``."""
    return BundleError(f"bundle: {what}. Ask whoever made the file for another one.")


def reason(error: Exception) -> str:
    """What is wrong, on one line: of the faults of a document the first, with its place."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False)[0]
    where = ".".join(map(str, first["loc"]))
    if not where:
        return str(first["msg"])
    return f"{where if where.isprintable() and len(where) <= _LONGEST_PLACE else quoted(where)}: {first['msg']}"
