"""The JSON objects of the HTTP API: dictionaries whose members are typed attributes too.

What the members mean is in the API's own description (``/openapi.json``). A member that a newer server adds is in the
dictionary, and has no attribute here.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, get_args, get_type_hints


class Document(dict[str, Any]):
    """A JSON object. ``document.name`` is ``document["name"]``, with objects inside it as documents of their class."""

    if not TYPE_CHECKING:  # a type checker knows the annotations of the classes, and no other attributes

        def __getattr__(self, name: str) -> Any:
            """The member with this name."""
            if name not in self:
                raise AttributeError(f"{type(self).__name__} has no member {name!r}; its members are {sorted(self)}")
            inner = _class_of_member(type(self), name)
            value = self[name]
            if inner is None or value is None:
                return value
            return [inner(each) for each in value] if isinstance(value, list) else inner(value)


@cache
def _class_of_member(document: type[Document], name: str) -> type[Document] | None:
    """The class of a member that is a document, or a list of documents; None for any other member."""
    types = [get_type_hints(document).get(name)]
    while types:
        kind = types.pop()
        if isinstance(kind, type) and issubclass(kind, Document):
            return kind
        types += get_args(kind)
    return None


class Warning(Document):  # noqa: A001 - the name in the HTTP contract; this module issues no Python warnings
    """A remark on a file that was accepted."""

    code: str
    detail: str
    tensor: str | None


class Checkpoint(Document):
    """The weights of a trained model."""

    id: str
    filename: str | None
    format: str
    sha256: str
    size_bytes: int
    tensors: int
    parameters: int
    compressible_parameters: int
    dtypes: dict[str, int]
    weights_key: str | None
    stripped_prefix: str | None
    tied: list[list[str]]
    warnings: list[Warning]
    created_at: str | None
    expires_at: str | None


class Tensor(Document):
    """One tensor of a checkpoint, and statistics of its values."""

    name: str
    shape: list[int]
    dtype: str
    parameters: int
    bytes: int
    compressible: bool
    min: float | None
    max: float | None
    mean: float | None
    std: float | None
    zeros: int
    tied_to: str | None


class InputArray(Document):
    """One input of a data set."""

    name: str
    shape: list[int]
    dtype: str


class TargetArray(Document):
    """The targets of a data set."""

    shape: list[int]
    dtype: str


class Dataset(Document):
    """Samples for training and testing."""

    id: str
    filename: str | None
    format: str
    splits: dict[str, int]
    input_shape: list[int]
    classes: int | None
    dtype: str
    inputs: list[InputArray]
    targets: TargetArray | None
    layout: str | None
    class_names: list[str] | None
    sha256: str
    size_bytes: int
    warnings: list[Warning]
    created_at: str | None
    expires_at: str | None


class ProgramTensor(Document):
    """An input or an output of a program."""

    name: str
    shape: list[int | None]
    dtype: str


class Program(Document):
    """A network of a user, as a ``torch.export`` archive."""

    id: str
    filename: str | None
    inputs: list[ProgramTensor]
    outputs: list[ProgramTensor]
    parameters: int
    tensors: int
    trainable: bool
    train_graph: bool
    tied: list[list[str]]
    operators: list[str]
    torch_version: str
    sha256: str
    size_bytes: int
    warnings: list[Warning]
    created_at: str | None
    expires_at: str | None


class Estimate(Document):
    """What a job would need."""

    points: int
    epochs: dict[str, int]
    parameters: int
    compressible_parameters: int
    raw_bytes: int
    disk_bytes: int
    queued_before: int


class Validation(Document):
    """The answer to a valid job specification."""

    valid: bool
    estimate: Estimate
    warnings: list[Any]


class JobError(Document):
    """Why a job failed."""

    code: str
    detail: str


class JobUrls(Document):
    """The paths of a job's routes."""

    self: str
    events: str
    logs: str
    cancel: str
    results: str
    bundle: str
    metrics: str
    plot: str | None
    page: str | None


class JobDocument(Document):
    """A job as it was when the server answered."""

    id: str
    name: str | None
    labels: dict[str, str]
    status: str
    phase: str | None
    progress: float
    spec: dict[str, Any]
    created_at: str | None
    queued_at: str | None
    started_at: str | None
    ended_at: str | None
    expires_at: str | None
    attempt: int
    queue_position: int | None
    error: JobError | None
    urls: JobUrls
    study: str | None
    selected: int | None
    worker: str | None
    versions: dict[str, str] | None


class Event(Document):
    """An event of a job. The member that is named as ``type`` says what has happened."""

    id: int
    at: str
    type: str


class Part(Document):
    """A part that a job can name."""

    name: str
    summary: str
    source: str
    parameters: dict[str, Any]


class Limits(Document):
    """What the server accepts at most."""

    max_upload_bytes: int
    max_json_bytes: int
    max_active_jobs: int
    max_wait_seconds: int
    max_page: int
    time_limit_seconds: int
    retention_days: float


class Catalogue(Document):
    """All parts that a job can name, and the limits of the server."""

    transforms: list[Part]
    methods: list[Part]
    pruners: list[Part]
    quantizers: list[Part]
    encoders: list[Part]
    architectures: list[Part]
    tasks: list[Part]
    datasets: list[Part]
    formats: list[Part]
    dataset_formats: list[Part]
    limits: Limits


class Readiness(Document):
    """Whether the service can take jobs."""

    status: str
    checks: dict[str, str]
    workers: int
