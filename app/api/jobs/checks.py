"""Holding a job's specification against what it names, before anything is queued."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, cast

from app.api.backend import Backend
from app.api.checkpoints import service as checkpoints
from app.api.datasets import service as datasets
from app.api.datasets.service import DatasetFacts
from app.api.jobs.schemas import Estimate
from cnet import dtypes
from cnet.errors import Issue, SpecError
from cnet.models import Architecture
from cnet.models.match import check_match
from cnet.search import CandidateGrid, resolved_document
from cnet.spec import JobSpec
from cnet.weights import Selection, pruning_masks


@dataclass(frozen=True)
class TensorFacts:
    """One tensor that the job will work on; tied copies are left out."""

    name: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class CheckedSpec:
    """A specification that can be run, with what was learnt on the way."""

    spec: JobSpec
    checkpoint_id: str | None
    dataset: DatasetFacts | None
    tensors: tuple[TensorFacts, ...]

    def document(self) -> dict[str, Any]:
        """The resolved JSON form, which parses to a specification that runs the same.

        What is to be searched for is left open: written out it would read as the user's own.
        """
        return resolved_document(self.spec)


def check(backend: Backend, document: Any, owner: str) -> CheckedSpec:
    """Everything that can be said of a specification without running it.

    Raises:
        SpecError: it is not one, or its parts do not fit.
        NotFoundError, GoneError: what it names is not there.
        ArchitectureMismatchError, DatasetError: checkpoint, architecture and data set are not of one kind.
    """
    if isinstance(document, str):  # would be read as JSON text within JSON
        raise SpecError("a job spec is a JSON object, not a string")
    spec = JobSpec.parse(document)
    _check_text(spec)
    _check_limit(backend, spec)
    dataset = datasets.resolve(backend, spec.dataset, owner) if spec.dataset is not None else None
    if dataset is not None:
        _check_preprocess(spec, dataset)
    if spec.checkpoint is None:
        return CheckedSpec(spec, None, dataset, _new_tensors(spec, dataset))
    stored = checkpoints.get(backend, spec.checkpoint, owner)
    rows = stored.manifest["tensors"]
    if dataset is not None:
        shapes = {row["name"]: tuple(row["shape"]) for row in rows}
        check_match(cast(Architecture, spec.architecture), dataset.input_shape, dataset.classes, shapes)
    tensors = (TensorFacts(row["name"], row["dtype"], tuple(row["shape"])) for row in rows if row["tied_to"] is None)
    return CheckedSpec(spec, stored.id, dataset, tuple(tensors))


def estimate(checked: CheckedSpec, queued: int) -> Estimate:
    """What the job would take; a search mostly ends before it has made all that is counted here."""
    sizes = [(tensor, math.prod(tensor.shape)) for tensor in checked.tensors]
    raw_bytes = sum(size * dtypes.by_name(tensor.dtype).numpy.itemsize for tensor, size in sizes)
    grid = CandidateGrid.of(checked.spec)
    sparsities, points = grid.max_sparsities, grid.max_points
    return Estimate(
        points=points,
        epochs=_epochs(checked.spec, grid),
        parameters=sum(size for _, size in sizes),
        compressible_parameters=sum(math.prod(tensor.shape) for tensor in _compressible(checked)),
        raw_bytes=raw_bytes,
        # each bundle is smaller than the weights; weights, their start and two moments of the optimizer are saved
        disk_bytes=raw_bytes * (points + sparsities + (4 if checked.spec.trains else 1)),
        queued_before=queued,
    )


def _compressible(checked: CheckedSpec) -> list[TensorFacts]:
    selection = _selection(checked.spec)
    masks = pruning_masks(tensor.name for tensor in checked.tensors)
    return [t for t in checked.tensors if t.name not in masks and selection.selects(t.name, t.dtype, t.shape)]


def warnings(checked: CheckedSpec) -> list[str]:
    """What the user should know before running the job."""
    selection = _selection(checked.spec)
    if not _compressible(checked):
        return ["no tensor is compressible: the bundle would hold everything as it is"]
    return [
        f"the pattern {pattern!r} of compressible matches no tensor"
        for pattern in (*selection.include, *selection.exclude)
        if not any(fnmatchcase(tensor.name, pattern) for tensor in checked.tensors)
    ]


def _selection(spec: JobSpec) -> Selection:
    return spec.compressible.selection() if spec.compressible else Selection()


def _epochs(spec: JobSpec, grid: CandidateGrid) -> dict[str, int]:
    resolved = spec.resolved()
    training, recover, baseline = resolved.training, resolved.recover, resolved.baseline
    if training is None or recover is None:
        return {"total": 0}
    gradual = resolved.prune.gradual_epochs if resolved.prune else 0
    epochs = {
        "baseline": baseline.over(training).epochs if baseline else 0,
        "finetune": training.epochs,
        **({"prune": gradual * grid.max_prunings} if gradual else {}),
        "recover": recover.epochs * grid.max_sparsities,
        "centroids": recover.centroid_epochs * grid.max_points,
    }
    return {**epochs, "total": sum(epochs.values())}


def _new_tensors(spec: JobSpec, dataset: DatasetFacts | None) -> tuple[TensorFacts, ...]:
    """The tensors of a net that is trained from scratch. Raises SpecError where the images are too small for it."""
    if dataset is None or spec.architecture is None:
        return ()
    shapes = spec.architecture.tensors(dataset.input_shape, dataset.classes)
    return tuple(TensorFacts(row.name, "int64" if row.optional else "float32", row.shape) for row in shapes)


def _check_text(spec: JobSpec) -> None:
    """No control characters in what is shown to people and sent in headers; databases refuse some as well."""
    texts: list[tuple[tuple[str, ...], str]] = [(("name",), spec.name or "")]
    texts += [(("labels", key), key + value) for key, value in (spec.labels or {}).items()]
    issues = [Issue(loc, "has control characters") for loc, text in texts if any(not c.isprintable() for c in text)]
    if issues:
        raise SpecError("name and labels are plain text, without control characters", issues=issues)


def _check_limit(backend: Backend, spec: JobSpec) -> None:
    most = backend.settings.time_limit_seconds
    if spec.time_limit is not None and spec.time_limit > most:
        issue = Issue(("time_limit",), f"is more than the {most} seconds that this server allows")
        raise SpecError(f"time_limit {issue.msg}", issues=(issue,))


def _check_preprocess(spec: JobSpec, dataset: DatasetFacts) -> None:
    channels, found = dataset.input_shape[0], []
    for name in ("mean", "std"):
        length = len(getattr(spec.preprocess, name, (0.0,)))
        if length not in {1, channels}:
            found.append(Issue(("preprocess", name), f"has {length} values, the images have {channels} channels"))
    if found:
        raise SpecError(f"preprocess.{found[0].loc[1]} {found[0].msg}", issues=found)
