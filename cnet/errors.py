"""The errors of the library: one root, and one class for each thing that a user can correct.

    CnetError                      the root; raised itself for a request that no class below covers
    ├── SpecError                  a job specification or a parameter of a part is invalid
    ├── CheckpointError            a checkpoint file cannot be read
    ├── ProgramError               a torch.export archive cannot be read or run
    ├── DatasetError               a data set cannot be read, or does not fit the network
    ├── ArchitectureMismatchError  the tensors of a checkpoint are not those of the architecture
    ├── BundleError                a bundle is damaged, is not a bundle, or is of another format version
    ├── TrainingError              training failed: the loss is not finite, memory is exhausted, ...
    ├── ConstraintNotMetError      no point meets the target
    ├── MissingFileError           there is no file of the name that was given; a FileNotFoundError as well
    ├── PluginError                an installed plug-in cannot be imported
    └── StoppedError               the observer requested a stop

Each error has a stable ``code`` for programs and a message for people: what is wrong, with the values, then what to
do. Exceptions of other libraries are caught where they enter and re-raised as one of these, ``from`` the cause.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


class CnetError(Exception):
    """The root of all errors of the library.

    Attributes:
        detail: the message: what is wrong, and what to do.
        code: a stable identifier, such as ``corrupt``; ``default_code`` of the class unless given.
        phase: the phase of a run in which the error occurred; None outside of a run.
    """

    default_code: ClassVar[str] = "error"

    def __init__(self, detail: str, *, code: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code or self.default_code
        self.phase: str | None = None


@dataclass(frozen=True)
class Issue:
    """One mistake in a document: its location (``loc``: keys and indexes from the root) and a message (``msg``)."""

    loc: tuple[str | int, ...]
    msg: str

    def __str__(self) -> str:
        """The message after its location, without the full stop, as in ``prune.sparsity: it has too few items``."""
        return ": ".join(filter(None, (".".join(map(str, self.loc)), self.msg.removesuffix("."))))


class SpecError(CnetError):
    """A job specification or a parameter of a part is invalid. ``issues`` has every mistake with its location."""

    default_code = "invalid_spec"

    def __init__(self, detail: str, *, code: str | None = None, issues: Sequence[Issue] = ()) -> None:
        super().__init__(detail, code=code)
        self.issues = tuple(issues)


class CheckpointError(CnetError):
    """A checkpoint file cannot be read. ``code`` is one of the refusal codes of the HTTP API."""

    default_code = "corrupt"


class DatasetError(CnetError):
    """A data set cannot be read, or does not fit the network. ``code`` is one of the refusal codes of the HTTP API."""

    default_code = "corrupt"


class ProgramError(CnetError):
    """A ``torch.export`` archive cannot be read or run. ``code`` is one of the refusal codes of the HTTP API."""

    default_code = "corrupt"


class ArchitectureMismatchError(CnetError):
    """The tensors of a checkpoint are not those of the architecture.

    Attributes:
        missing: names of tensors that the architecture has and the checkpoint does not.
        unexpected: names of tensors that the checkpoint has and the architecture does not.
        mismatched: a sentence for each tensor whose shape or type differs.
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
    """A bundle is damaged, is not a bundle, or is of a format version that this release does not read."""

    default_code = "bundle_damaged"


class TrainingError(CnetError):
    """Training failed: the loss is not finite, memory is exhausted, a device is missing, ..."""

    default_code = "training_failed"


class ConstraintNotMetError(CnetError):
    """No point meets the target. The points that were computed stay readable."""

    default_code = "constraint_not_met"


class MissingFileError(CnetError, FileNotFoundError):
    """There is no file at the path that was given; also caught as FileNotFoundError, of which it has the attributes."""

    default_code = "no_such_file"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(f"{os.fspath(path)}: there is no such file. Check the path.")
        self.errno, self.strerror, self.filename = errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path)

    def __str__(self) -> str:
        """The message, which that of FileNotFoundError would take the place of."""
        return self.detail


class PluginError(CnetError):
    """An installed plug-in cannot be imported, or registers a name that is taken."""

    default_code = "plugin_broken"


class StoppedError(CnetError):
    """The observer requested a stop. The same call continues from the state that was saved."""

    default_code = "stopped"

    def __init__(self, detail: str = "stopped on request") -> None:
        super().__init__(detail)
