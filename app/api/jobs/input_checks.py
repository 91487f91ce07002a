"""Checking the inputs of a job: calibration inputs against the network, and their scaling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from app.api.backend import Backend
from app.api.checkpoints import service as checkpoints
from app.api.datasets import service as datasets
from app.api.programs import service as programs
from app.core.ownership import OwnerFilter
from cnet.calibrate.config import few_samples
from cnet.data.dataset_facts import DatasetFacts
from cnet.data.validation import validation_samples
from cnet.errors import Issue, SpecError
from cnet.models import Architecture
from cnet.models.match import check_match
from cnet.models.programs.document import ProgramOutput
from cnet.pipeline.log_warnings import about_other_outputs
from cnet.results.data_doubts import one_class
from cnet.results.resolution import small_validation
from cnet.spec import JobSpec
from cnet.training.config import InputScaling
from cnet.training.tasks import program_fit


def calibration_inputs(backend: Backend, spec: JobSpec, owner: OwnerFilter) -> DatasetFacts | None:
    """The inputs that ``calibrate`` names, checked against the network; None where the job's own serve.

    Raises:
        NotFoundError, GoneError: they do not exist.
        DatasetError: the network does not take them; both shapes are stated.
    """
    named = spec.calibrate.inputs if spec.calibrate is not None else None
    if named is None or named == spec.dataset:
        return None
    found = datasets.resolve(backend, named, owner, "calibration inputs")
    if spec.program is not None:
        manifest = program_fit.read_manifest(programs.get(backend, spec.program.program, owner).manifest)
        program_fit.check_calibration(manifest, spec.program, found)
    elif spec.checkpoint is not None:
        rows = checkpoints.get(backend, spec.checkpoint, owner).manifest["tensors"]
        shapes = {row["name"]: tuple(row["shape"]) for row in rows}
        check_match(cast(Architecture, spec.architecture), found.image_shape, 1, shapes)
    return found


def about_calibration(spec: JobSpec, inputs: DatasetFacts | None) -> list[str]:
    """The warning about a job whose calibration inputs are few."""
    if spec.calibrate is None or inputs is None or "train" not in inputs.samples:
        return []
    few = few_samples(min(inputs.samples["train"], spec.calibrate.samples))
    return [] if few is None else [few]


def about_choices(spec: JobSpec, dataset: DatasetFacts | None) -> list[str]:
    """The warning, behind its code, about a target that the samples on which choices are made are too few for."""
    target = spec.target
    allowed = None if target is None else target.allowed_loss(None)
    if target is None or allowed is None or dataset is None or "train" not in dataset.samples:
        return []
    held = dataset.samples.get("validation") or validation_samples(
        dataset.samples["train"], spec.resolved().validation or 0.0
    )
    samples, split = (held, "validation") if held else (dataset.samples.get("test", 0), "test")
    task = spec.program.task.metric if spec.program is not None else None
    if task is not None and task.unit != "percent" and target.max_accuracy_drop is not None:
        told = (
            f"target.max_accuracy_drop: {target.max_accuracy_drop:g} is the largest rise of {task.name}, by which "
            "networks of this task are compared, and no percentage. Compare it with that of the original network, "
            "which the log tells as the baseline, or take target.max_error_rise, which is in percent of it."
        )
        return [told]
    if not samples:
        return []
    percent = 100.0 if target.min_agreement is not None else None
    found = small_validation(samples, allowed, percent, split)
    return [] if found is None else [f"{found.code}: {found.detail}"]


def about_outputs(spec: JobSpec, outputs: Sequence[ProgramOutput]) -> list[str]:
    """The warning, behind its code, about outputs of a program that the job neither trains nor compares."""
    found = about_other_outputs(spec, outputs)
    return [] if found is None else [f"{found.code}: {found.detail}"]


def about_labels(spec: JobSpec, dataset: DatasetFacts | None) -> list[str]:
    """The warning, behind its code, about a data set with splits of a single class."""
    learns_classes = spec.program is None or spec.program.task.metric.name == "accuracy"
    if dataset is None or not learns_classes:
        return []
    found = one_class(dataset.label_counts, dataset.samples)
    return [] if found is None else [f"{found.code}: {found.detail}"]


def check_preprocess(spec: JobSpec, dataset: DatasetFacts) -> None:
    """Check names of inputs and numbers of values. Raises SpecError."""
    if spec.preprocess is None:
        return
    first, own = next(iter(dataset.inputs)), spec.preprocess.inputs or {}
    found = [
        Issue(("preprocess", "inputs", name), f"the data set has no such input; it has {', '.join(dataset.inputs)}")
        for name in own
        if name not in dataset.inputs
    ]
    places: list[tuple[tuple[str, ...], str, InputScaling]] = [((), first, spec.preprocess)]
    places += [(("inputs", name), name, scaling) for name, scaling in own.items() if name in dataset.inputs]
    for place, name, scaling in places:
        found += _wrong_lengths(("preprocess", *place), scaling, dataset.inputs[name][0])
    if found:
        where = ".".join(map(str, found[0].loc))
        raise SpecError(f"{where}: {found[0].msg}. Give one value, or one for each channel.", issues=found)


def _wrong_lengths(place: tuple[str, ...], scaling: InputScaling, shape: tuple[int, ...]) -> list[Issue]:
    """An issue for mean and std each that has neither one value nor one for each channel of samples of a shape."""
    channels = shape[0] if len(shape) in (1, 3) else 1
    lengths = {name: len(getattr(scaling, name)) for name in ("mean", "std")}
    return [
        Issue((*place, name), f"it has {length} values, and the samples have {channels} channels")
        for name, length in lengths.items()
        if length not in (1, channels)
    ]
