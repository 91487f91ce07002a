"""A run on a net that is larger than memory: the same points, made pass by pass over the checkpoint's file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from cnet.bundle import open_bundle, write_bundle
from cnet.bundle.writer import add_notes
from cnet.capabilities import streams
from cnet.errors import SpecError
from cnet.files import move_into_place
from cnet.observer import check_stop
from cnet.pipeline import log_warnings, point_metrics
from cnet.pipeline.network_steps import Session
from cnet.pipeline.plan import CompressionPlan
from cnet.pipeline.point_metrics import PointQuality, PointRequest
from cnet.pipeline.point_steps import Maker, PrunedNetwork, masked, name_of
from cnet.pipeline.streaming import StreamedSymbols, StreamedVector
from cnet.pipeline.streaming.measure import Tally, check_others, layer_result, measured
from cnet.pipeline.streaming.symbols import Kept
from cnet.points import BaselineResult, Point
from cnet.registry import Part
from cnet.search import Grid
from cnet.spec import JobSpec
from cnet.weights import Weights

STREAMED_BYTES = 2**25
"""From so many bytes of weights on a run streams, where it can and nothing else is asked for."""


def reads_in_chunks(spec: JobSpec, weights: Weights, asked: bool | None) -> bool:
    """Whether a run without a data set reads its weights pass by pass.

    Args:
        spec: the job.
        weights: the checkpoint's.
        asked: what the user wants; None: whatever fits the net's size.

    Raises:
        SpecError: streaming is asked for, and one of the parts needs all weights in memory.
    """
    if asked is False or (asked is None and weights.raw_bytes < STREAMED_BYTES):
        return False
    obstacles = _obstacles(spec, weights)
    if obstacles and asked:
        raise SpecError(f"this job cannot stream: {'; '.join(obstacles)}", code="cannot_stream")
    return not obstacles


def _obstacles(spec: JobSpec, weights: Weights) -> list[str]:
    plan, grid, found = CompressionPlan.of(spec), Grid.of(spec), []
    if spec.target is not None and grid.searched:
        found.append("a search for what its target needs looks at all weights: name sparsity, quantizer and clusters")
    if plan.method is not None or plan.transform is not None:
        found.append("a method or a transform works on all weights at once")
    quantizers = [("quantizer", candidate.quantizer) for candidate in grid.candidates]
    parts: list[tuple[str, Part]] = [("pruner", plan.pruner), *quantizers, ("encoder", plan.encoder)]
    unable = dict.fromkeys((kind, part.name) for kind, part in parts if not streams(part))
    found += [f"{kind} {name!r} with these settings needs all weights in memory" for kind, name in unable]
    if any(weights[name].dtype == "float64" for name in weights.compressible):
        found.append("there are compressible tensors of type float64")
    return found


@dataclass(frozen=True, eq=False)
class StreamedSession(Session):
    """A session that leaves all work on weights to its maker, which reads them pass by pass."""

    def _pruned(self, sparsity: float, position: int, start: float) -> PrunedNetwork:  # noqa: ARG002 - what a session is asked
        self.meter.seek(start)
        return PrunedNetwork(np.empty(0, np.float32), self.original, None, None)


@dataclass(frozen=True, eq=False)
class StreamedMaker(Maker):
    """Makes points of weights that are not in memory."""

    def make(self, request: PointRequest, pruned: PrunedNetwork, baseline: BaselineResult) -> Point:
        """One point, as ``Maker.make``; ``pruned`` holds the weights before pruning.

        What turns out to need all values at once, such as many clusters of values that are nearly equal, is made in
        memory all the same.
        """
        try:
            symbols = self._symbols(request, pruned.weights)
        except SpecError as error:
            if error.code != "cannot_stream":
                raise
            self.observer.log(f"point {request.index} is made in memory: {error}")
            return super().make(request, self._in_memory(request, pruned.weights), baseline)
        self._step("encode")
        path = self.store.draft(name_of(request.index))
        write_bundle(path, pruned.weights, symbols, self.plan.encoder)
        self.meter.advance(self.effort.encode)
        self._step("evaluate")
        quality = self._measured(request, symbols)
        self.meter.advance(self.effort.evaluate)
        self._step("publish")
        sizes = add_notes(path, self._metrics(request, quality, baseline), self.about)
        open_bundle(path).verify()
        move_into_place(path, self.store.bundle(name_of(request.index)))
        point = point_metrics.point(request, quality, baseline, sizes)
        self.store.set_record(name_of(request.index), point.to_metrics())
        return point

    def _in_memory(self, request: PointRequest, weights: Weights) -> PrunedNetwork:
        """What a session that does not stream makes of weights that are not trained."""
        keep = self.plan.pruner.keep(weights, request.sparsity)
        return PrunedNetwork(weights.vector(), masked(weights, keep), None, None)

    def _symbols(self, request: PointRequest, weights: Weights) -> StreamedSymbols:
        self._step("prune")
        signed = request.quantizer.keeps_negative_zeros
        kept = Kept.of(StreamedVector(weights), self.plan.pruner, request.sparsity, negative_zeros=signed)
        self.meter.advance(self.effort.prune)
        self._step("quantize")
        symbols = StreamedSymbols.of(kept, request.quantizer, request.clusters)
        for sentence in log_warnings.about_clusters(symbols, request.clusters):
            self.observer.log(sentence)
        self.meter.advance(self.effort.quantize)
        check_stop(self.observer)
        return symbols

    def _measured(self, request: PointRequest, symbols: StreamedSymbols) -> PointQuality:
        """The quality of the draft, which is compared with what was put into it."""
        bundle = open_bundle(self.store.draft(name_of(request.index)))
        net, layers = measured(bundle, symbols)
        if self.plan.encoder.others != "float16":
            check_others(bundle, symbols)
        for sentence in _about_pruning(net, layers, request.sparsity):
            self.observer.log(sentence)
        return PointQuality(
            accuracy=None,
            accuracy_before_quantize=None,
            loss=None,
            sparsity=net.sparsity,
            clusters=symbols.clusters,
            label_entropy=net.entropy,
            mse=net.mse,
            layers=tuple(layer_result(name, bundle.described(name)[1], layer) for name, layer in layers.items()),
        )


def _about_pruning(net: Tally, layers: Mapping[str, Tally], requested: float) -> Iterator[str]:
    """As ``advice.about_pruning``: of what pruning did, whatever quantizing made zero besides."""
    zeros = net.weights - net.unpruned
    if requested and zeros > round(requested * net.weights):
        yield log_warnings.zeros_already(requested, zeros / net.weights)
    if requested < 1.0:
        for name, layer in layers.items():
            if not layer.unpruned and layer.squares:
                yield log_warnings.nothing_left(requested, name)
