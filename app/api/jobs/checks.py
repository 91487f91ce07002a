"""Checking a job specification against the checkpoint and the data set that it names, before the job is queued."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, cast

from app.api.backend import Backend
from app.api.checkpoints import service as checkpoints
from app.api.datasets import service as datasets
from app.api.jobs import input_checks
from app.api.jobs.placement import check_resources
from app.api.jobs.schemas import Estimate
from app.api.programs import service as programs
from app.core.ownership import OwnerFilter
from app.core.uploaded_files import UploadedFile
from app.core.webhooks.addresses import url_mistake
from cnet import dtypes
from cnet.data.dataset_facts import DatasetFacts
from cnet.errors import Issue, SpecError
from cnet.models import Architecture
from cnet.models.match import check_match
from cnet.models.programs.document import ProgramOutput
from cnet.models.programs.manifest import ProgramTensorRow
from cnet.results.damage import RUINING_BITS, foreseen
from cnet.search import CandidateGrid, is_searched, resolved_document
from cnet.spec import JobSpec, ProgramArchitecture
from cnet.training.tasks import program_fit
from cnet.weights import Selection, pruning_masks


@dataclass(frozen=True)
class TensorFacts:
    """What a job needs to know of a tensor. Of tied tensors only the first one counts.

    Attributes:
        name, dtype, shape: as in the checkpoint's manifest.
        table: whether it is not a trained weight (``cnet.tables``), although type and shape would allow it.
        finite: whether its values are known to be finite.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    table: bool = False
    finite: bool = True

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> TensorFacts:
        """The facts that a row of a checkpoint's manifest states."""
        name, dtype, shape = row["name"], row["dtype"], tuple(row["shape"])
        table = not row["compressible"] and Selection().selects(name, dtype, shape)
        return cls(name, dtype, shape, table, finite=row["min"] is not None and row["max"] is not None)

    @classmethod
    def of_program(cls, row: ProgramTensorRow) -> TensorFacts:
        """The facts that a row of a program's manifest states."""
        table = not row.compressible and Selection().selects(row.name, row.dtype, row.shape)
        return cls(row.name, row.dtype, row.shape, table, finite=row.finite)


@dataclass(frozen=True)
class CheckedSpec:
    """A specification that was checked, with the checkpoint, data sets, program and tensors that it names.

    Attributes:
        spec: the specification.
        checkpoint_id, program_id: ids of what is stored; None where the job names none.
        dataset: what the job trains on.
        tensors: what it compresses, and what it does not.
        outputs: of the program; empty where the job names none.
        calibration: the inputs that ``calibrate`` names; None where they are those of ``dataset``.
    """

    spec: JobSpec
    checkpoint_id: str | None
    dataset: DatasetFacts | None
    tensors: tuple[TensorFacts, ...]
    program_id: str | None = None
    outputs: tuple[ProgramOutput, ...] = ()
    calibration: DatasetFacts | None = None

    def document(self) -> dict[str, Any]:
        """The JSON form of the specification with all defaults written out, which runs the same.

        Values that the job searches for are left out, since written out they would be taken for the user's.
        """
        return resolved_document(self.spec)


def check(backend: Backend, document: Any, owner: OwnerFilter) -> CheckedSpec:
    """Check a job specification as far as possible without running it.

    Args:
        backend: holds checkpoints, data sets and settings.
        document: the specification as parsed JSON.
        owner: whose checkpoints, data sets and programs it may name.

    Raises:
        SpecError: it is not a valid specification, or its parts do not fit together.
        NotFoundError, GoneError: a checkpoint, data set or program that it names does not exist.
        ArchitectureMismatchError, DatasetError, ProgramError: checkpoint, architecture and data set do not fit.
    """
    if isinstance(document, str):  # JobSpec.parse would read it as JSON text
        raise SpecError("job spec: it is a JSON string, but must be an object. Send the object itself as the body.")
    spec = JobSpec.parse(document)
    _check_text(spec)
    _check_limit(backend, spec)
    check_resources(spec)
    _check_webhook(backend, spec)
    dataset = datasets.resolve(backend, spec.dataset, owner) if spec.dataset is not None else None
    calibration = input_checks.calibration_inputs(backend, spec, owner)
    if dataset is not None or calibration is not None:
        input_checks.check_preprocess(spec, cast(DatasetFacts, dataset or calibration))
    checkpoint = checkpoints.get(backend, spec.checkpoint, owner) if spec.checkpoint is not None else None
    if spec.program is not None:
        checked = _check_program(spec, programs.get(backend, spec.program.program, owner), checkpoint, dataset)
    elif checkpoint is not None:
        checked = _check_checkpoint(spec, checkpoint, dataset)
    else:
        checked = CheckedSpec(spec, None, dataset, _new_tensors(spec, dataset))
    _check_finite(checked)
    return replace(checked, calibration=calibration)


def _check_checkpoint(spec: JobSpec, checkpoint: UploadedFile, dataset: DatasetFacts | None) -> CheckedSpec:
    """A job whose weights are those of a checkpoint, checked against the built-in architecture where it names one."""
    rows = checkpoint.manifest["tensors"]
    if dataset is not None:
        shapes = {row["name"]: tuple(row["shape"]) for row in rows}
        check_match(cast(Architecture, spec.architecture), *dataset.images, shapes)
    tensors = (TensorFacts.of(row) for row in rows if row["tied_to"] is None)
    return CheckedSpec(spec, checkpoint.id, dataset, tuple(tensors))


def _check_webhook(backend: Backend, spec: JobSpec) -> None:
    """Check the address of the webhook, as far as its URL shows it. Raises SpecError."""
    if spec.webhook is None:
        return
    mistake = url_mistake(spec.webhook.url, allow_private=backend.settings.webhook_allow_private)
    if mistake is not None:
        issue = Issue(("webhook", "url"), mistake)
        raise SpecError(f"{issue}. Give another URL, or leave webhook out.", issues=(issue,))


def _check_program(
    spec: JobSpec, stored: UploadedFile, checkpoint: UploadedFile | None, dataset: DatasetFacts | None
) -> CheckedSpec:
    """A job whose network is a program: checked against the checkpoint and the data set that it names."""
    program = program_fit.read_manifest(stored.manifest)
    if checkpoint is not None:
        program_fit.check_weights(program, checkpoint.manifest["tensors"])
    if dataset is not None:
        program_fit.check_dataset(program, cast(ProgramArchitecture, spec.program), dataset)
    tensors = (TensorFacts.of_program(row) for row in program.tensors if row.tied_to is None)
    checkpoint_id = checkpoint.id if checkpoint else None
    return CheckedSpec(spec, checkpoint_id, dataset, tuple(tensors), stored.id, program.outputs)


def estimate(checked: CheckedSpec, queued: int) -> Estimate:
    """What the job would need. Where it searches, these are upper bounds.

    Args:
        checked: the specification.
        queued: number of jobs in the queue.
    """
    sizes = [(tensor, math.prod(tensor.shape)) for tensor in checked.tensors]
    raw_bytes = sum(size * dtypes.by_name(tensor.dtype).numpy.itemsize for tensor, size in sizes)
    grid = CandidateGrid.of(checked.spec)
    sparsities, points = grid.max_sparsities, grid.max_points
    return Estimate(
        points=points,
        epochs=_epochs(checked.spec, grid),
        parameters=sum(size for _, size in sizes),
        compressible_parameters=sum(math.prod(tensor.shape) for tensor in compressible_tensors(checked)),
        raw_bytes=raw_bytes,
        # Each bundle is smaller than the weights. Training saves weights, initial weights and two moments of Adam.
        disk_bytes=raw_bytes * (points + sparsities + (4 if checked.spec.trains else 1)),
        queued_before=queued,
    )


def compressible_tensors(checked: CheckedSpec) -> list[TensorFacts]:
    """The tensors that the job would compress, tied ones once."""
    tables = frozenset(tensor.name for tensor in checked.tensors if tensor.table)
    selection = replace(_selection(checked.spec), tables=tables)
    masks = pruning_masks(tensor.name for tensor in checked.tensors)
    return [t for t in checked.tensors if t.name not in masks and selection.selects(t.name, t.dtype, t.shape)]


def _check_finite(checked: CheckedSpec) -> None:
    """Raise SpecError where the job would compress a tensor that has NaN or infinity."""
    for tensor in compressible_tensors(checked):
        if not tensor.finite:
            raise SpecError(
                f"compressible.include: tensor {tensor.name[:120]!r} has values that are NaN or infinite, which cannot "
                "be compressed. Correct the patterns, or add the tensor to compressible.exclude."
            )


_NO_VALIDATION = (
    "validation: it is 0, so the job's choices (search, target, selected point) are made on the test data, and their "
    "scores are better than those of new data. Set it to a share of the training data, such as 0.1."
)


def warnings(checked: CheckedSpec) -> list[str]:
    """What the user should know before running the job: each says what is wrong and what to do."""
    selection = _selection(checked.spec)
    about_data = [_NO_VALIDATION] if checked.spec.trains and checked.spec.validation == 0 else []
    about_data += input_checks.about_calibration(checked.spec, checked.calibration or checked.dataset)
    about_data += input_checks.about_outputs(checked.spec, checked.outputs)
    about_data += input_checks.about_labels(checked.spec, checked.dataset)
    about_data += input_checks.about_choices(checked.spec, checked.dataset)
    if not compressible_tensors(checked):
        unchanged = "compressible: no tensor is selected, so the bundle would store everything unchanged. "
        return [*about_data, unchanged + "Add patterns of names to compressible.include."]
    return [*about_data, *_about_damage(checked.spec)] + [
        f"compressible: the pattern {pattern!r} matches no tensor. Correct or remove it."
        for pattern in (*selection.include, *selection.exclude)
        if not any(fnmatchcase(tensor.name, pattern) for tensor in checked.tensors)
    ]


def _about_damage(spec: JobSpec) -> list[str]:
    """The warnings, each behind its code, about a job that nothing is measured or trained on."""
    if spec.trains or spec.calibrate is not None:
        return []
    candidates = () if is_searched(spec) else CandidateGrid.of(spec).candidates
    sparsity = max((candidate.sparsity for candidate in candidates), default=0.0)
    bits = min((candidate.bits for candidate in candidates), default=RUINING_BITS)
    return [f"{warning.code}: {warning.detail}" for warning in foreseen(sparsity, bits)]


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
    """The tensors of a network that is trained from scratch. Raises SpecError where the images are too small for it."""
    if dataset is None or not isinstance(spec.architecture, Architecture):
        return ()
    shapes = spec.architecture.tensors(*dataset.images)
    return tuple(TensorFacts(row.name, "int64" if row.optional else "float32", row.shape) for row in shapes)


def _check_text(spec: JobSpec) -> None:
    """Check that name and labels, which are shown and sent in headers, have no control characters."""
    texts: list[tuple[tuple[str, ...], str]] = [(("name",), spec.name or "")]
    texts += [(("labels", key), key + value) for key, value in (spec.labels or {}).items()]
    issues = [Issue(loc, "it has control characters") for loc, text in texts if any(not c.isprintable() for c in text)]
    if issues:
        raise SpecError("job spec: its name or labels contain control characters. Remove them.", issues=issues)


def _check_limit(backend: Backend, spec: JobSpec) -> None:
    most = backend.settings.time_limit_seconds
    if spec.time_limit is not None and spec.time_limit > most:
        issue = Issue(("time_limit",), f"{spec.time_limit} seconds are more than the {most} that this server allows")
        raise SpecError(f"time_limit: {issue.msg}. Set a lower one.", issues=(issue,))
