"""The steps that make one point: prune, recover, quantize, train the centroids, encode, measure, publish.

The same steps have two strategies: ``cnet.pipeline.in_memory`` holds all weights in memory, ``cnet.pipeline.streaming``
reads them chunk by chunk.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from cnet.bundle import add_notes, open_bundle, write_bundle
from cnet.files import move_into_place
from cnet.observer import check_stop
from cnet.pipeline import log_warnings
from cnet.pipeline.context import RunContext
from cnet.pipeline.network_steps import NetworkSteps
from cnet.pipeline.point_metrics import PointRequest, check_finite, measured_point, point_of
from cnet.results.damage import DOUBTFUL_CODE, ResultWarning
from cnet.results.measurements import NetworkMeasurement, PointMeasurement
from cnet.results.metrics import compute_notes, declared_metrics
from cnet.results.metrics import notes as compute_noted
from cnet.results.points import BaselineResult, Point
from cnet.search import Candidate
from cnet.symbols import SymbolSource
from cnet.weights import Weights


class HasWeights(Protocol):
    """A pruned network, whatever form its mask has."""

    @property
    def weights(self) -> Weights:
        """The network's tensors."""


PrunedT = TypeVar("PrunedT", bound=HasWeights)
SymbolsT = TypeVar("SymbolsT", bound=SymbolSource)


class PointSteps(ABC, Generic[PrunedT, SymbolsT]):
    """The steps of a point.

    Args:
        context: what all steps share.
        networks: the steps that come before.
    """

    def __init__(self, context: RunContext, networks: NetworkSteps) -> None:
        self.context = context
        self.networks = networks

    def point(self, candidate: Candidate, index: int) -> Point:
        """The point of ``candidate``: that of an earlier attempt, or made now. It is the ``index``-th of the run."""
        context = self.context
        request = PointRequest(index, candidate.sparsity, candidate.clusters, candidate.quantizer)
        start = context.costs.until(len(self.networks.sparsities), index)
        self.networks.visit(candidate.sparsity)
        point = self._finished(request)
        if point is None:
            finetuned = self.networks.finetuned  # before the meter is set: an attempt that resumes may train first
            context.meter.seek(start)
            point = self.make(request, finetuned)
        context.observer.point(point, context.folder.bundle(request.name))
        context.meter.seek(context.costs.until(len(self.networks.sparsities), index + 1))
        check_stop(context.observer)
        return point

    def make(self, request: PointRequest, finetuned: Weights) -> Point:
        """Make a point of the network before pruning, step by step."""
        pruned = self.prune(request, finetuned)
        weights, symbols = self.quantize(request, pruned)
        weights, symbols = self.train_centroids(request, pruned, weights, symbols)
        draft = self.encode(request, weights, symbols)
        network = self.measure(request, pruned, symbols, draft)
        check_finite(network)
        return self.publish(request, network, draft)

    @abstractmethod
    def prune(self, request: PointRequest, finetuned: Weights) -> PrunedT:
        """Set weights to zero, and train the others where there is a data set."""

    @abstractmethod
    def quantize(self, request: PointRequest, pruned: PrunedT) -> tuple[Weights, SymbolsT]:
        """Give each weight that is not zero a label, and each label a centroid.

        Returns:
            the tensors of ``pruned``, of which a calibration may have corrected those that are not compressible, and
            the symbols.
        """

    @abstractmethod
    def train_centroids(
        self, request: PointRequest, pruned: PrunedT, weights: Weights, symbols: SymbolsT
    ) -> tuple[Weights, SymbolsT]:
        """Train the centroids while labels stay, where there is a data set.

        Returns:
            the tensors to store, of which those that are not compressible may be trained too, and the symbols.
        """

    def encode(self, request: PointRequest, weights: Weights, symbols: SymbolsT) -> Path:
        """Write the bundle, without notes, to the draft that is returned."""
        context = self.context
        with context.phase("encode", context.costs.encode):
            draft = context.folder.draft(request.name)
            write_bundle(draft, weights, symbols, context.plan.encoder)
        return draft

    @abstractmethod
    def measure(self, request: PointRequest, pruned: PrunedT, symbols: SymbolsT, draft: Path) -> NetworkMeasurement:
        """Decode the draft and measure what it decodes to.

        Raises:
            BundleError: it does not decode to ``symbols``.
        """

    def publish(self, request: PointRequest, network: NetworkMeasurement, draft: Path) -> Point:
        """Add the measured numbers to the draft, check that all of it decodes, and move it to its final place."""
        context = self.context
        with context.phase("publish"):
            measured = measured_point(request, network, self.networks.baseline)
            sizes = add_notes(draft, _notes(measured, request, context.notes), context.notes)
            open_bundle(draft).verify()
            move_into_place(draft, context.folder.bundle(request.name))
            context.folder.drop_training(request.name)
            context.folder.drop_labels(request.name)
            point = point_of(measured, sizes)
            doubts = self._about_outputs()
            told = (*point.warnings, *(doubts if request.index == 0 else ()))  # all points have the same doubts
            context.log(f"warning: {each.code}: {each.detail}" for each in told)
            point = replace(point, warnings=(*point.warnings, *doubts, *self.about_choices()))
            context.folder.set_record(request.name, point.to_metrics())
        return point

    def _about_outputs(self) -> tuple[ResultWarning, ...]:
        """The warning that outputs can hardly be what the job's task compares them as."""
        parts = (self.context.network, self.context.calibrated)
        doubts = {part.doubt for part in parts if part is not None and part.doubt is not None}
        return tuple(ResultWarning(DOUBTFUL_CODE, doubt) for doubt in doubts)

    def about_choices(self) -> tuple[ResultWarning, ...]:
        """The warnings about the outputs and samples by which choices are made, which all points of the run have."""
        context, baseline = self.context, self.networks.baseline
        found = log_warnings.about_choices(context.target, context.network, baseline)
        given = context.checkpoint is not None
        about_data = log_warnings.about_data(context.target, context.network, baseline, given=given)
        return (*context.warnings, *about_data, *(() if found is None else (found,)))

    def _finished(self, request: PointRequest) -> Point | None:
        """The point that an earlier attempt made, or None."""
        folder = self.context.folder
        record = folder.record(request.name)
        if record is None or not folder.bundle(request.name).exists():
            return None
        self.context.observer.log(f"point {request.index}: made by an earlier attempt")
        return Point.from_json(record)


def _notes(measured: PointMeasurement, request: PointRequest, notes: Mapping[str, Any]) -> dict[str, Any]:
    """The metrics that the bundle notes: those of the point, and those of the baseline as ``baseline``."""
    declared = declared_metrics(BaselineResult)
    baseline = compute_noted(declared, lambda each: getattr(measured.baseline, each.name))
    return {**compute_notes(Point, measured), **_searched_quantizer(request, notes), "baseline": baseline}


def _searched_quantizer(request: PointRequest, notes: Mapping[str, Any]) -> dict[str, Any]:
    """The quantizer, where a search chose it and the spec in the manifest therefore does not name it."""
    quantizer = request.quantizer.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {} if quantizer == notes["spec"].get("quantize") else {"quantize": quantizer}
