"""The two ways in which a bundle can be wrong, as errors that say what to do."""

from __future__ import annotations

from cnet.errors import BundleError


def damaged(what: str) -> BundleError:
    """The error for bytes that changed after the bundle was written, such as ``the header of mask``."""
    return BundleError(f"bundle: {what} is not what was written. Copy or download the file again.")


def inconsistent(what: str) -> BundleError:
    """The error for a bundle whose parts cannot belong together, such as ``the digests are too few``."""
    return BundleError(f"bundle: {what}. Ask whoever made the file for another one.")
