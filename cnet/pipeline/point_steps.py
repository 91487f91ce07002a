"""How a point is made: quantize, encode, decode what was encoded, evaluate that, publish."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cnet.bundle import Bundle, BundleSizes, open_bundle, write_bundle
from cnet.capabilities import needs_curvature
from cnet.errors import BundleError
from cnet.files import move_into_place
from cnet.observer import check_stop
from cnet.pipeline import log_warnings, point_metrics
from cnet.pipeline.inputs import RunObserver
from cnet.pipeline.network import TrainableNetwork, TrainingRun, evaluate
from cnet.pipeline.plan import CompressionPlan
from cnet.pipeline.point_metrics import PointQuality, PointRequest, Vector
from cnet.pipeline.progress import ProgressMeter, StepCosts
from cnet.pipeline.run_folder import RunFolder
from cnet.points import BaselineResult, Point
from cnet.prune import Curvature
from cnet.symbols import Symbols
from cnet.weights import Weights


@dataclass(frozen=True, eq=False)
class PrunedNetwork:
    """What the points of one sparsity have in common.

    Attributes:
        original: w_net just before pruning.
        weights: after pruning and recovery; every zero of w_net is a pruned weight.
        accuracy: of ``weights``, in percent, None without a data set.
        teacher: the net to learn from when the centroids are fine-tuned, where there is one.
        measure: measures the curvature of the loss at ``weights``; None without a data set.
    """

    original: Vector
    weights: Weights
    accuracy: float | None
    teacher: Weights | None
    measure: Callable[[], Curvature] | None = None

    @cached_property
    def curvature(self) -> Curvature | None:
        """Of the loss at ``weights``, measured once for all points that ask for it."""
        return self.measure() if self.measure else None


@dataclass(frozen=True, eq=False)
class Maker:
    """Makes points. ``about`` goes into every bundle's manifest: what tells this run from others."""

    plan: CompressionPlan
    net: TrainableNetwork | None
    effort: StepCosts
    observer: RunObserver
    store: RunFolder
    meter: ProgressMeter
    about: dict[str, Any]

    def found(self, request: PointRequest) -> Point | None:
        """The point of an earlier attempt, or None."""
        name = name_of(request.index)
        record = self.store.record(name)
        if record is None or not self.store.bundle(name).exists():
            return None
        self.observer.log(f"point {request.index}: made before, taken over")
        return Point.from_json(record)

    def tell(self, point: Point) -> None:
        """Hand a point to the observer, which may have heard of it before."""
        self.observer.point(point, self.store.bundle(name_of(point.index)))

    def make(self, request: PointRequest, pruned: PrunedNetwork, baseline: BaselineResult) -> Point:
        """One point, its bundle in its final place and its numbers recorded."""
        weights, symbols = self._quantized(request, pruned)
        draft = self._encoded(request, weights, symbols)
        measured = self._evaluated(draft, pruned)
        self._step("publish")
        sizes = self._published(request, weights, draft, measured, baseline)
        point = point_metrics.point(request, measured, baseline, sizes)
        self.store.set_record(name_of(request.index), point.to_metrics())
        return point

    def _quantized(self, request: PointRequest, pruned: PrunedNetwork) -> tuple[Weights, Symbols]:
        self._step("quantize")
        vector = pruned.weights.vector()
        if self.net is not None:
            vector += 0  # training leaves -0.0 in pinned places; only a checkpoint's own is a value to keep
        shapes = [pruned.weights[name].shape for name in pruned.weights.compressible]
        symbols = _labelled(request, pruned, vector, shapes)
        for sentence in log_warnings.about_clusters(symbols, request.clusters):
            self.observer.log(sentence)
        self.meter.advance(self.effort.quantize)
        check_stop(self.observer)
        weights = pruned.weights
        if self.net is not None:
            within = self.meter.within(self.effort.centroids)
            run = TrainingRun(self.store.training(name_of(request.index)), within, pruned.teacher)
            weights, symbols = self.net.tune_centroids(weights, symbols, run, request.quantizer)
        self.meter.advance(self.effort.centroids)
        return weights, symbols

    def _encoded(self, request: PointRequest, weights: Weights, symbols: Symbols) -> Bundle:
        """The bundle without its metrics, read back: what is measured is what is in the file."""
        self._step("encode")
        path = self.store.draft(name_of(request.index))
        write_bundle(path, weights, symbols, self.plan.encoder, None)
        self.meter.advance(self.effort.encode)
        return open_bundle(path)

    def _evaluated(self, draft: Bundle, pruned: PrunedNetwork) -> PointQuality:
        self._step("evaluate")
        decoded = draft.weights()
        accuracy, loss = evaluate(self.net, decoded)
        self.meter.advance(self.effort.evaluate)
        accuracies = (accuracy, pruned.accuracy)
        return point_metrics.quality(pruned.original, (draft.stored(), decoded), draft.symbols(), accuracies, loss)

    def _published(
        self, request: PointRequest, weights: Weights, draft: Bundle, measured: PointQuality, baseline: BaselineResult
    ) -> BundleSizes:
        """The bundle with its metrics, proven to decode to what was measured, in its final place."""
        name = name_of(request.index)
        metrics = self._metrics(request, measured, baseline)
        decoded = draft.weights()
        path = self.store.draft(name)
        write_bundle(path, weights, draft.symbols(), self.plan.encoder, metrics, self.about)
        final = open_bundle(path)
        final.verify()
        if not same(decoded, final.weights()):
            raise BundleError("the bundle does not decode to the weights that were measured")
        sizes = final.sizes  # a bundle reads its file as it goes, and the file is about to move
        move_into_place(path, self.store.bundle(name))
        self.store.drop_training(name)
        return sizes

    def _metrics(self, request: PointRequest, measured: PointQuality, baseline: BaselineResult) -> dict[str, Any]:
        """What the manifest says of the point."""
        return {
            "sparsity_requested": request.sparsity,
            "clusters_requested": request.clusters,
            **_chosen(request, self.about),
            **measured.summary(),
            "baseline": {**baseline.to_json(), "loss": point_metrics.brief(baseline.loss)},
        }

    def _step(self, phase: str) -> None:
        check_stop(self.observer)
        self.observer.phase(phase)


def _labelled(request: PointRequest, pruned: PrunedNetwork, vector: Vector, shapes: list[tuple[int, ...]]) -> Symbols:
    """Mask, labels and centroids; zeros of the vector are pruned weights."""
    quantizer = request.quantizer
    curvature = pruned.curvature if needs_curvature(quantizer) else None
    return quantizer.symbols(vector, vector != 0, request.clusters, shapes, curvature)


def _chosen(request: PointRequest, about: dict[str, Any]) -> dict[str, Any]:
    """The quantizer, where the spec in the manifest does not say it because a search chose it."""
    quantizer = request.quantizer.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {} if quantizer == about["spec"].get("quantize") else {"quantize": quantizer}


def same(one: Weights, other: Weights) -> bool:
    """Whether names, order, types, shapes and bits are equal."""
    if [(t.name, t.dtype, t.shape) for t in one] != [(t.name, t.dtype, t.shape) for t in other]:
        return False
    return all(bool(np.array_equal(_bits(a.data), _bits(b.data))) for a, b in zip(one, other, strict=True))


def _bits(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def masked(weights: Weights, keep: npt.NDArray[np.bool_]) -> Weights:
    """The weights with zeros where ``keep``, shape (n,), is false; what is zero already stays as it is, -0 too."""
    vector = weights.vector()
    return weights.with_vector(np.where(keep | (vector == 0), vector, vector.dtype.type(0)))


def name_of(index: int) -> str:
    """What the files of a point are called, by its index."""
    return f"point-{index:03d}"
