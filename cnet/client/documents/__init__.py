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
    Upload,
)
from cnet.client.documents.jobs import (
    Delivery,
    EpochMetrics,
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
    WebhookSecret,
)
from cnet.client.documents.service import (
    About,
    ApiKey,
    Catalogue,
    Gpu,
    Limits,
    NewApiKey,
    Part,
    Queue,
    Readiness,
    Worker,
    WorkerList,
)

__all__ = [
    "About",
    "ApiKey",
    "Catalogue",
    "Checkpoint",
    "Dataset",
    "Delivery",
    "Document",
    "EpochMetrics",
    "Estimate",
    "Event",
    "FileWarning",
    "Gpu",
    "InputArray",
    "JobCounts",
    "JobDocument",
    "JobError",
    "JobUrls",
    "Limits",
    "NewApiKey",
    "Part",
    "Program",
    "ProgramTensor",
    "Queue",
    "Readiness",
    "StudyDocument",
    "StudyMember",
    "StudyUrls",
    "TargetArray",
    "Tensor",
    "Upload",
    "Validation",
    "WebhookSecret",
    "Worker",
    "WorkerList",
]
