"""The sandbox: a child process that reads one untrusted file under limits (``python -m cnet.sandbox``)."""

from cnet.sandbox.child import (
    DATASET_FILE,
    ERRORS,
    MANIFEST_FILE,
    PROGRAM_FILE,
    TOO_LARGE_CODES,
    WEIGHTS_FILE,
    Kind,
    SandboxRequest,
    answer,
    limit_resources,
    main,
)

__all__ = [
    "DATASET_FILE",
    "ERRORS",
    "MANIFEST_FILE",
    "PROGRAM_FILE",
    "TOO_LARGE_CODES",
    "WEIGHTS_FILE",
    "Kind",
    "SandboxRequest",
    "answer",
    "limit_resources",
    "main",
]
