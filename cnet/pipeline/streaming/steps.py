"""The steps of a point on a network that is larger than memory: its file is read chunk by chunk, once for each step."""

from __future__ import annotations

from pathlib import Path

from cnet.bundle import open_bundle
from cnet.errors import SpecError
from cnet.pipeline import log_warnings
from cnet.pipeline.context import RunContext
from cnet.pipeline.in_memory import InMemorySteps
from cnet.pipeline.inputs import StreamingSizes
from cnet.pipeline.network_steps import NetworkSteps
from cnet.pipeline.point_metrics import PointRequest
from cnet.pipeline.point_steps import PointSteps
from cnet.pipeline.streaming.measure import check_other_tensors, measure_bundle
from cnet.pipeline.streaming.stored_labels import StoredSymbols
from cnet.pipeline.streaming.symbols import StreamedPruning, StreamedSymbols
from cnet.pipeline.streaming.vector import StreamedVector
from cnet.quantize.grid_labels import LabelsInOrder
from cnet.results.measurements import NetworkMeasurement, TensorMeasurement
from cnet.results.points import Point
from cnet.weights import Weights

AnySymbols = StreamedSymbols | StoredSymbols


class StreamedSteps(PointSteps[StreamedPruning, AnySymbols]):
    """The steps of a point without a data set, on weights that are read chunk by chunk.

    Args:
        context: what all steps share.
        networks: the steps that come before.
        sizes: how much is read at once.
    """

    def __init__(self, context: RunContext, networks: NetworkSteps, sizes: StreamingSizes) -> None:
        super().__init__(context, networks)
        self._sizes = sizes

    def make(self, request: PointRequest, finetuned: Weights) -> Point:
        """As ``PointSteps.make``. A point that turns out to need all values at once is made in memory.

        Many clusters of values that are nearly equal are such a point: that is known only after reading the values.
        """
        try:
            return super().make(request, finetuned)
        except SpecError as error:
            if error.code != "cannot_stream":
                raise
            self.context.observer.log(f"point {request.index} is made in memory: {error}")
            return InMemorySteps(self.context, self.networks).make(request, finetuned)

    def prune(self, request: PointRequest, finetuned: Weights) -> StreamedPruning:
        """As ``PointSteps.prune``; the mask is a threshold, from which each chunk's mask follows when it is read."""
        context = self.context
        with context.phase("prune", context.costs.prune):
            vector = StreamedVector(finetuned, self._sizes.chunk, self._sizes.resident)
            signed = request.quantizer.keeps_negative_zeros
            return StreamedPruning.of(vector, context.plan.pruner, request.sparsity, negative_zeros=signed)

    def quantize(self, request: PointRequest, pruned: StreamedPruning) -> tuple[Weights, AnySymbols]:
        """As ``PointSteps.quantize``; labels that depend on positions are written to a file, and read from it."""
        context, quantizer = self.context, request.quantizer
        with context.phase("quantize", context.costs.quantize):
            shapes = [pruned.weights[name].shape for name in pruned.weights.compressible]
            grids = quantizer.grids(pruned, shapes) if isinstance(quantizer, LabelsInOrder) else None
            if grids is None:
                symbols: AnySymbols = StreamedSymbols.of(pruned, quantizer, request.clusters)
            else:
                path = context.folder.labels(request.name)
                symbols = StoredSymbols.of(pruned, grids, path, context.meter.within(context.costs.quantize))
            context.log(log_warnings.about_clusters(symbols, request.clusters))
        return pruned.weights, symbols

    def train_centroids(
        self, request: PointRequest, pruned: StreamedPruning, weights: Weights, symbols: AnySymbols
    ) -> tuple[Weights, AnySymbols]:
        """The same tensors and symbols: nothing is trained without a data set."""
        del request, pruned
        return weights, symbols

    def measure(
        self, request: PointRequest, pruned: StreamedPruning, symbols: AnySymbols, draft: Path
    ) -> NetworkMeasurement:
        """As ``PointSteps.measure``; tensors that are not compressible are compared too, unless they are rounded."""
        del pruned
        context = self.context
        with context.phase("evaluate", context.costs.evaluate):
            bundle = open_bundle(draft)
            total, layers = measure_bundle(bundle, symbols)
            if context.plan.encoder.other_packing != "float16":
                check_other_tensors(bundle, symbols)
            emptied = (name for name, layer in layers.items() if not layer.unpruned and layer.squares)
            context.log(
                log_warnings.about_pruning(request.sparsity, total.weights - total.unpruned, total.weights, emptied)
            )
            shapes = {name: bundle.described(name)[1] for name in layers}
            tensors = (
                TensorMeasurement(name, shapes[name], layer.counts(), layer.sample.histogram())
                for name, layer in layers.items()
            )
            histogram = total.sample.histogram()
            return NetworkMeasurement(None, None, symbols.clusters, total.counts(), tuple(tensors), histogram)
