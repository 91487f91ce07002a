"""The library's errors: one root, each with a stable ``code`` that a program can rely on.

    CnetError
    ├── SpecError                a job specification, or a part's parameters, that cannot be used
    ├── CheckpointError          a checkpoint file that cannot be read
    ├── ProgramError             a torch.export archive that cannot be read or run
    ├── DatasetError             a data set that cannot be read, or does not fit the net
    ├── ArchitectureMismatchError  a checkpoint's tensors are not those of the architecture
    ├── BundleError              a bundle that is damaged, foreign, or of another version
    ├── TrainingError            training went wrong (a loss that is not finite, no memory, ...)
    ├── ConstraintNotMetError    no point meets the target
    ├── PluginError              an installed plug-in that cannot be imported
    └── StoppedError             the observer asked to stop

Foreign exceptions are caught at the border where they enter and re-raised as one of these, ``from`` the cause.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


class CnetError(Exception):
    """Root of all errors of the library. ``str(error)`` says what is wrong and what to do.

    ``phase`` names the pipeline's phase in which it happened, None where it was no run of the pipeline.
    """

    default_code: ClassVar[str] = "error"

    def __init__(self, detail: str, *, code: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code or self.default_code
        self.phase: str | None = None


@dataclass(frozen=True)
class Issue:
    """One thing wrong with a document: where (``loc``, keys and indexes from the root) and what."""

    loc: tuple[str | int, ...]
    msg: str


class SpecError(CnetError):
    """A job specification, or a part's parameters, that cannot be used."""

    default_code = "invalid_spec"

    def __init__(self, detail: str, *, code: str | None = None, issues: Sequence[Issue] = ()) -> None:
        super().__init__(detail, code=code)
        self.issues = tuple(issues)


class CheckpointError(CnetError):
    """A checkpoint file that cannot be read; ``code`` is one of the contract's refusal codes."""

    default_code = "corrupt"


class DatasetError(CnetError):
    """A data set that cannot be read, or that does not fit the net."""

    default_code = "corrupt"


class ProgramError(CnetError):
    """A ``torch.export`` archive that cannot be read or run; ``code`` is one of the contract's refusal codes."""

    default_code = "corrupt"


class ArchitectureMismatchError(CnetError):
    """A checkpoint's tensors are not those of the architecture.

    ``missing`` and ``unexpected`` are tensor names; ``mismatched`` are sentences that name both shapes.
    """

    default_code = "architecture_mismatch"

    def __init__(
        self, detail: str, *, missing: Sequence[str], unexpected: Sequence[str], mismatched: Sequence[str]
    ) -> None:
        super().__init__(detail)
        self.missing = tuple(missing)
        self.unexpected = tuple(unexpected)
        self.mismatched = tuple(mismatched)


class BundleError(CnetError):
    """A bundle that is damaged, foreign, or of a format version that this release does not know."""

    default_code = "bundle_damaged"


class TrainingError(CnetError):
    """Training went wrong."""

    default_code = "training_failed"


class ConstraintNotMetError(CnetError):
    """No point meets the target; the points that were made stay readable."""

    default_code = "constraint_not_met"


class PluginError(CnetError):
    """An installed plug-in that cannot be imported, or that registers a name that is taken."""

    default_code = "plugin_broken"


class StoppedError(CnetError):
    """The observer asked to stop; what was saved until then can be resumed."""

    default_code = "stopped"

    def __init__(self, detail: str = "stopped on request") -> None:
        super().__init__(detail)
