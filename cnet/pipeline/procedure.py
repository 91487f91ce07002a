"""A run from its inputs to its outcome, in the order of the paper.

load                        check the inputs, open the run's folder            here
baseline                    train it from scratch, or take the checkpoint;     network_steps
measure it
transform, finetune         once for all points                                network_steps
prune, recover              once for each sparsity                             network_steps
quantize, train centroids   once for each point                                in_memory, streaming
encode                      once for each point                                point_steps
measure                     what the encoded bytes decode to                   in_memory, streaming
publish                     add the numbers, check, move into place            point_steps
select                      the point that meets the target best               cnet.search
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cnet import search
from cnet.data import Dataset
from cnet.data.readings import dataset_for
from cnet.data.validation import with_validation
from cnet.errors import SpecError
from cnet.formats.parsing.tensor_values import check_finite
from cnet.models.programs import StoredProgram
from cnet.models.programs.embedding_ids import embedding_rows
from cnet.pipeline import log_warnings
from cnet.pipeline.calibrated_network import CalibratedNetwork
from cnet.pipeline.context import RunContext
from cnet.pipeline.digests import dataset_digest, run_key, spec_document, trainings_key, with_program_digest
from cnet.pipeline.in_memory import InMemorySteps
from cnet.pipeline.inputs import Inputs, Outcome, RunObserver, SharedTrainings
from cnet.pipeline.network import NetworkSource, TrainableNetwork
from cnet.pipeline.network_steps import NetworkSteps
from cnet.pipeline.phase_errors import PhaseTracker, errors_name_phase
from cnet.pipeline.plan import CompressionPlan, TrainingPlan, with_computed_scaling
from cnet.pipeline.point_metrics import point_name
from cnet.pipeline.point_steps import PointSteps
from cnet.pipeline.progress import ProgressMeter, StepCosts
from cnet.pipeline.run_folder import RunFolder
from cnet.pipeline.streaming.choice import reads_in_chunks
from cnet.pipeline.streaming.steps import StreamedSteps
from cnet.results.points import Point
from cnet.search import Candidate, CandidateGrid
from cnet.spec import JobSpec, Target
from cnet.tables import without_tables
from cnet.training.tasks.program_fit import check_ids
from cnet.weights import Selection, Weights


def run(spec: JobSpec, inputs: Inputs, observer: RunObserver) -> Outcome:
    """Compress a network as ``spec`` says.

    Without a data set nothing is trained and no accuracy is measured. Where the spec has a target, a search chooses
    what the spec leaves open (``cnet.search``).

    The run can be ended at any time, by the observer or by a kill. Called again with the same arguments and the same
    folder it continues from the last saved state, and its bundles are the same, byte for byte, on one kind of machine.

    Args:
        spec: the job as its user wrote it. It must not be resolved: what it leaves out is searched for.
        inputs: what to work on; must hold what the spec names.
        observer: receives every event, and is asked whether to go on.

    Raises:
        ConstraintNotMetError: no point meets the target; all points were made and the observer has them.
        StoppedError: the observer asked to stop.
        CnetError: anything else that went wrong; ``phase`` says where, ``code`` what, the text what to do. Only what
            the observer itself raises passes through as it is.
    """
    tracker = PhaseTracker(observer)
    # values that become infinite are refused where they matter, with an error that says what to do
    with errors_name_phase(tracker), np.errstate(over="ignore"):
        tracker.phase("load")
        steps = load(spec, inputs, tracker)
        baseline = steps.networks.baseline
        steps.context.log(f"warning: {each.code}: {each.detail}" for each in steps.about_choices())
        points: list[Point] = []
        for candidate in _candidates(spec, steps, points):
            points.append(steps.point(candidate, len(points)))
        steps.context.folder.finish()
        selected = search.select_point(spec.target, baseline, points)
        steps.context.meter.finish()
    bundles = tuple(steps.context.folder.bundle(point_name(point.index)) for point in points)
    return Outcome(baseline, tuple(points), selected, bundles)


def load(spec: JobSpec, inputs: Inputs, observer: RunObserver) -> PointSteps[Any, Any]:
    """The steps of a run, once its inputs are checked and its folder is open.

    Args:
        spec: the job as its user wrote it.
        inputs: what to work on.
        observer: receives every event that the steps do.

    Raises:
        SpecError: the inputs are not those that the spec names, or streaming is asked for and not possible.
        ArchitectureMismatchError: the tensors of the checkpoint are not those of the architecture.
    """
    _check_inputs(spec, inputs)
    context = _open_context(spec, inputs, observer)
    networks = NetworkSteps(context)
    if reads_in_chunks(spec, inputs, context.checkpoint):
        return StreamedSteps(context, networks, inputs.streaming_sizes)
    return InMemorySteps(context, networks)


def _candidates(spec: JobSpec, steps: PointSteps[Any, Any], points: list[Point]) -> Iterable[Candidate]:
    """What to make, in order: the whole grid, or what a search chooses, which reads the growing list ``points``."""
    grid = CandidateGrid.of(spec)
    if spec.target is None or not grid.searched:
        return grid.candidates
    return _searched(grid, spec.target, steps, points)


def _searched(
    grid: CandidateGrid, target: Target, steps: PointSteps[Any, Any], points: list[Point]
) -> Iterator[Candidate]:
    """What a search chooses; it says what it tries before each candidate, since one can take minutes."""
    log, baseline = steps.context.observer.log, steps.networks.baseline
    log(search.tell_beginning(grid))
    for candidate in search.propose_candidates(grid, target, steps.networks.search_inputs(grid), points):
        log(search.tell_next(grid, candidate, target, baseline, points))
        yield candidate
    log(search.tell_end(target, baseline, points))


def _check_inputs(spec: JobSpec, inputs: Inputs) -> None:
    weights = "the program's own" if spec.checkpoint is None and spec.program else spec.checkpoint
    fields = {
        "checkpoint": (weights, inputs.weights),
        "dataset": (spec.dataset, inputs.dataset),
        "architecture": (spec.program and spec.program.program, inputs.program),
        "calibrate": (spec.calibrate and "calibrate", inputs.calibration),
    }
    for field, (named, value) in fields.items():
        if (named is None) != (value is None):
            wrong = "is not named, but was given" if named is None else f"{named!r} is named, but was not given"
            raise SpecError(f"{field}: it {wrong}. Give the run what its specification names, and nothing else.")


def _open_context(spec: JobSpec, inputs: Inputs, observer: RunObserver) -> RunContext:
    plan = CompressionPlan.of(spec)
    checkpoint = None
    if inputs.weights is not None:
        plan = replace(plan, selection=_selection(plan.selection, inputs.weights, inputs.program))
        given = inputs.weights
        checkpoint = Weights.select(given.tensors, plan.selection, given.tied, given.metadata)
        for name in checkpoint.compressible:
            check_finite(checkpoint[name])
    dataset = _with_validation(spec, _as_taken(inputs.dataset, inputs.program, observer), observer)
    calibration = dataset if uses_own_inputs(spec) else _as_taken(inputs.calibration, inputs.program, observer)
    spec = with_computed_scaling(spec, dataset or calibration, observer)
    network = _network(spec, dataset, plan, NetworkSource(inputs.program, checkpoint), observer)
    calibrated = None if calibration is None else CalibratedNetwork(spec, calibration, inputs.program, observer)
    _check_parts([part for part in (network, calibrated) if part is not None], checkpoint, spec, inputs, observer)
    spec = with_program_digest(spec, inputs.program)
    digests = {
        "weights": None if checkpoint is None else checkpoint.digest(),
        "dataset": None if inputs.dataset is None else dataset_digest(inputs.dataset),
        **({"calibration": dataset_digest(inputs.calibration)} if inputs.calibration is not None else {}),
    }
    folder = _opened_folder(inputs.folder, run_key(spec, **digests), plan.selection, observer)
    costs = StepCosts.of(spec, dataset)
    aside = log_warnings.about_other_outputs(spec, inputs.program.program.outputs if inputs.program else ())
    return RunContext(
        checkpoint=checkpoint,
        plan=plan,
        network=network,
        calibrated=calibrated,
        costs=costs,
        observer=observer,
        folder=folder,
        meter=ProgressMeter(observer, costs.total),
        notes=_notes(spec, digests, checkpoint),
        revisits_sparsities=search.is_searched(spec),
        target=spec.target,
        warnings=() if aside is None else (aside,),
        shared=_shared(spec, inputs, digests, network),
    )


def _check_parts(
    parts: Sequence[TrainableNetwork | CalibratedNetwork],
    checkpoint: Weights | None,
    spec: JobSpec,
    inputs: Inputs,
    observer: RunObserver,
) -> None:
    """Check that a checkpoint fits whatever runs the network, and say how its output is understood."""
    if parts:
        for sentence in log_warnings.about_output(spec.program, inputs.program):
            observer.log(sentence)
    for part in parts:
        if checkpoint is not None:
            part.check(checkpoint)


def _opened_folder(path: Path, key: str, selection: Selection, observer: RunObserver) -> RunFolder:
    folder = RunFolder(path, key, selection)
    if folder.resumed:
        observer.log("this run was started before: it continues from its saved state")
    return folder


def _shared(
    spec: JobSpec, inputs: Inputs, digests: Mapping[str, str | None], network: TrainableNetwork | None
) -> tuple[SharedTrainings, str] | None:
    """The trainings in common with other runs, and the key of those of this run."""
    if inputs.shared is None or network is None:
        return None
    open_rate = inputs.weights is not None and network.rate_is_open
    return inputs.shared, trainings_key(spec, digests["weights"], digests["dataset"], rate_is_open=open_rate)


def _selection(selection: Selection, weights: Weights, program: StoredProgram | None) -> Selection:
    """The job's selection without tensors that are not trained weights: tables, and buffers of a program."""
    selection = without_tables(selection, weights.tensors)
    buffers = program.buffers if program else frozenset()
    return replace(selection, tables=selection.tables | buffers)


def uses_own_inputs(spec: JobSpec) -> bool:
    """Whether a job calibrates on the training inputs of its own data set."""
    return spec.calibrate is not None and spec.trains and spec.calibrate.inputs in (None, spec.dataset)


def _as_taken(dataset: Dataset | None, program: StoredProgram | None, observer: RunObserver) -> Dataset | None:
    """The data set with the axes that the program takes. Raises DatasetError where it holds ids that it does not."""
    if dataset is None or program is None:
        return dataset
    taken, rows = program.program.inputs, embedding_rows(program.program)
    check_ids([rows.get(one.name) for one in taken], list(dataset.train.inputs), dataset.integer_ranges)
    return dataset_for(dataset, [one.shape[1:] for one in taken], observer.log)


def _with_validation(spec: JobSpec, dataset: Dataset | None, observer: RunObserver) -> Dataset | None:
    """The data set with the split on which the run's choices are made."""
    resolved = spec.resolved()
    if dataset is None or resolved.training is None:
        return dataset
    made = with_validation(dataset, resolved.validation or 0.0, resolved.training.seed)
    if made.validation is None:
        observer.log(log_warnings.NO_VALIDATION)
    return made


def _network(
    spec: JobSpec, dataset: Dataset | None, plan: CompressionPlan, source: NetworkSource, observer: RunObserver
) -> TrainableNetwork | None:
    training = TrainingPlan.of(spec)
    if training is None or dataset is None:
        return None
    return TrainableNetwork(training, dataset, spec.preprocess, plan.selection, observer, source)


def _notes(spec: JobSpec, digests: Mapping[str, str | None], checkpoint: Weights | None) -> dict[str, Any]:
    """What every bundle of the run says about it: no time, no host, no id; of each digest the first 128 bits, hex.

    The metadata of the checkpoint's file is noted where it says more than that the tensors are those of PyTorch.
    """
    metadata = dict(checkpoint.metadata) if checkpoint is not None else {}
    return {
        "spec": spec_document(spec),
        "inputs": {name: digest and digest[:32] for name, digest in digests.items()},
        **({"metadata": metadata} if metadata not in ({}, {"format": "pt"}) else {}),
    }
