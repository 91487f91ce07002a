"""The JSON objects of the HTTP API: dictionaries whose members are typed attributes too.

What the members mean is in the API's own description (``/openapi.json``). A member that a newer server adds is in the
dictionary, and has no attribute here.
"""

from cnet.client.documents.base import Document
from cnet.client.documents.files import (
    Checkpoint,
    Dataset,
    FileWarning,
    InputArray,
    Program,
    ProgramTensor,
    TargetArray,
    Tensor,
)
from cnet.client.documents.jobs import (
    Estimate,
    Event,
    JobCounts,
    JobDocument,
    JobError,
    JobUrls,
    StudyDocument,
    StudyMember,
    StudyUrls,
    Validation,
)
from cnet.client.documents.service import About, Catalogue, Limits, Part, Readiness

__all__ = [
    "About",
    "Catalogue",
    "Checkpoint",
    "Dataset",
    "Document",
    "Estimate",
    "Event",
    "FileWarning",
    "InputArray",
    "JobCounts",
    "JobDocument",
    "JobError",
    "JobUrls",
    "Limits",
    "Part",
    "Program",
    "ProgramTensor",
    "Readiness",
    "StudyDocument",
    "StudyMember",
    "StudyUrls",
    "TargetArray",
    "Tensor",
    "Validation",
]
