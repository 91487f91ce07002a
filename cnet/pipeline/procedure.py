"""A run from its inputs to its outcome."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cnet import search
from cnet.errors import SpecError
from cnet.pipeline.digests import dataset_digest, run_key, spec_document
from cnet.pipeline.inputs import Inputs, Outcome, RunObserver
from cnet.pipeline.network import TrainableNetwork
from cnet.pipeline.network_steps import Session
from cnet.pipeline.phase_errors import PhaseTracker, with_phase
from cnet.pipeline.plan import CompressionPlan, TrainingPlan
from cnet.pipeline.point_steps import Maker, name_of
from cnet.pipeline.progress import ProgressMeter, StepCosts
from cnet.pipeline.run_folder import RunFolder
from cnet.pipeline.streamed import StreamedMaker, StreamedSession, reads_in_chunks
from cnet.points import Point
from cnet.search import Candidate, Grid
from cnet.spec import JobSpec
from cnet.weights import Weights


def run(spec: JobSpec, inputs: Inputs, observer: RunObserver) -> Outcome:
    """Compress a net as ``spec`` says.

    Load, measure the baseline (train it first, where there is no checkpoint), fine-tune once; then for each sparsity
    prune and recover, and for each cluster count quantize, fine-tune the centroids, encode, decode what was encoded,
    evaluate that, publish. Without a data set all training and every accuracy drop out. Where there is a target, what
    the job leaves open is searched for (``cnet.search``).

    The run can be ended at any time, by the observer or by a kill. Called again with the same arguments and the same
    folder it goes on from the last saved state, and its bundles are the same, byte for byte, on one kind of machine.

    Args:
        spec: the job as its user wrote it (not resolved: what it leaves out is searched for where it has a target).
        inputs: what to work on; must hold what the spec names.
        observer: told of everything, asked whether to go on.

    Raises:
        ConstraintNotMetError: no point meets the target; all points were made and told of.
        StoppedError: the observer asked to stop.
        CnetError: anything else that went wrong; ``phase`` says where, ``code`` what, the text what to do. Only what
            the observer itself raises passes through as it is.
    """
    tracked = PhaseTracker(observer)
    with with_phase(tracked):
        tracked.phase("load")
        session = open_session(spec, inputs, tracked)
        baseline = session.baseline
        points: list[Point] = []
        for candidate in _candidates(spec, session, points):
            points.append(session.point(candidate, len(points)))
        session.store.finish()
        selected = search.select(spec.target, baseline, points)
        session.meter.finish()
    bundles = tuple(session.store.bundle(name_of(point.index)) for point in points)
    return Outcome(baseline, tuple(points), selected, bundles)


def open_session(spec: JobSpec, inputs: Inputs, observer: RunObserver) -> Session:
    """Everything that the steps need, inputs checked against the spec and against each other."""
    _check_inputs(spec, inputs)
    plan = CompressionPlan.of(spec)
    given = None
    if inputs.weights is not None:
        given = Weights.select(inputs.weights.tensors, plan.selection, inputs.weights.tied)
    net = _net(spec, inputs, plan, observer)
    if given is not None and net is not None:
        net.check(given)
    digests = _digests(inputs, given)
    store = RunFolder(inputs.folder, run_key(spec, **digests), plan.selection)
    if store.resumed:
        observer.log("this run was started before: going on from its saved state")
    effort = StepCosts.of(spec, inputs.dataset)
    meter = ProgressMeter(observer, effort.total)
    streamed = _streamed(spec, inputs, given)
    maker = (StreamedMaker if streamed else Maker)(plan, net, effort, observer, store, meter, _about(spec, digests))
    kind, returns = StreamedSession if streamed else Session, search.searches(spec)
    return kind(given, plan, net, effort, observer, store, meter, maker, returns)


def _streamed(spec: JobSpec, inputs: Inputs, given: Weights | None) -> bool:
    if given is not None and inputs.dataset is None:
        return reads_in_chunks(spec, given, inputs.streaming)
    if inputs.streaming:
        raise SpecError("a job with a data set needs all weights in memory: do not stream", code="cannot_stream")
    return False


def _candidates(spec: JobSpec, session: Session, points: list[Point]) -> Iterable[Candidate]:
    """The points to make, in order; ``points`` is where they go as they are made."""
    grid = Grid.of(spec)
    if spec.target is None or not grid.searched:
        return grid.candidates
    return search.candidates(grid, spec.target, session.conditions(grid), points)


def _check_inputs(spec: JobSpec, inputs: Inputs) -> None:
    if (spec.checkpoint is None) != (inputs.weights is None):
        raise SpecError("the spec names a checkpoint and no weights are given, or the other way round")
    if (spec.dataset is None) != (inputs.dataset is None):
        raise SpecError("the spec names a data set and none is given, or the other way round")


def _net(spec: JobSpec, inputs: Inputs, plan: CompressionPlan, observer: RunObserver) -> TrainableNetwork | None:
    training = TrainingPlan.of(spec)
    if training is None or inputs.dataset is None:
        return None
    return TrainableNetwork(training, inputs.dataset, spec.preprocess, plan.selection, observer)


def _digests(inputs: Inputs, given: Weights | None) -> dict[str, str | None]:
    return {
        "weights": None if given is None else given.digest(),
        "dataset": None if inputs.dataset is None else dataset_digest(inputs.dataset),
    }


def _about(spec: JobSpec, digests: Mapping[str, str | None]) -> dict[str, Any]:
    """What every bundle of the run says about where it comes from: no time, no host, no id; digests of 128 bits."""
    return {
        "spec": spec_document(spec),
        "inputs": {name: digest and digest[:32] for name, digest in digests.items()},
    }
