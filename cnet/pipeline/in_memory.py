"""The steps of a point with all weights in memory."""

from __future__ import annotations

from pathlib import Path

from cnet import dtypes
from cnet.bundle import open_bundle
from cnet.equal_tensors import copy_symbols, find_equal_tensors
from cnet.errors import SpecError
from cnet.parts.capabilities import Calibratable, needs_curvature
from cnet.pipeline import log_warnings
from cnet.pipeline.network import TrainingRun, evaluate
from cnet.pipeline.network_steps import PrunedNetwork
from cnet.pipeline.point_metrics import PointRequest, check_decoded, measure_network
from cnet.pipeline.point_steps import PointSteps
from cnet.products import multiply_products
from cnet.results.measurements import NetworkMeasurement, Scores
from cnet.symbols import Symbols
from cnet.weights import Weights


class InMemorySteps(PointSteps[PrunedNetwork, Symbols]):
    """The steps of a point with all weights in memory, where there is a data set with training and evaluation."""

    def prune(self, request: PointRequest, finetuned: Weights) -> PrunedNetwork:
        """As ``PointSteps.prune``; the result serves all points of a sparsity."""
        return self.networks.prune(finetuned, request.sparsity)

    def quantize(self, request: PointRequest, pruned: PrunedNetwork) -> tuple[Weights, Symbols]:
        """As ``PointSteps.quantize``."""
        context, quantizer, weights = self.context, request.quantizer, pruned.weights
        if isinstance(quantizer, Calibratable):
            return self._calibrate(quantizer, pruned, request.sparsity)
        with context.phase("quantize", context.costs.quantize):
            vector = weights.vector()
            if context.network is not None:
                vector += 0  # training leaves -0.0 where a weight is pruned; only a checkpoint's own -0.0 is a value
            shapes = [weights[name].shape for name in weights.compressible]
            curvature = pruned.curvature if needs_curvature(quantizer) else None
            symbols = quantizer.symbols(vector, vector != 0, request.clusters, shapes, curvature)
            symbols = copy_symbols(symbols, find_equal_tensors(weights))
            context.log(log_warnings.about_clusters(symbols, request.clusters))
        return weights, symbols

    def _calibrate(self, quantizer: Calibratable, pruned: PrunedNetwork, sparsity: float) -> tuple[Weights, Symbols]:
        """Labels by the calibration inputs, and the weights with corrected biases and running means."""
        context, weights = self.context, pruned.weights
        if context.calibrated is None:
            raise SpecError("quantize: it needs calibration inputs, and the job has none. Give calibrate.")
        sensitivities = self.networks.sensitivities(context.calibrated, weights, sparsity)
        with context.phase("quantize"):
            keep = weights.vector() != 0
            told = context.meter.within(context.costs.quantize)
            weights, symbols = context.calibrated.quantize(weights, keep, quantizer, sensitivities, told)
            context.advance(context.costs.quantize)
        return weights, copy_symbols(symbols, find_equal_tensors(pruned.weights))

    def train_centroids(
        self, request: PointRequest, pruned: PrunedNetwork, weights: Weights, symbols: Symbols
    ) -> tuple[Weights, Symbols]:
        """As ``PointSteps.train_centroids``; biases and batch norm are trained too."""
        context = self.context
        if context.network is not None:
            state, on_fraction = context.folder.training(request.name), context.meter.within(context.costs.centroids)
            run = TrainingRun(state, on_fraction, pruned.teacher)
            weights, symbols = context.network.tune_centroids(weights, symbols, run, request.quantizer)
        context.meter.advance(context.costs.centroids)
        return weights, symbols

    def measure(
        self, request: PointRequest, pruned: PrunedNetwork, symbols: Symbols, draft: Path
    ) -> NetworkMeasurement:
        """As ``PointSteps.measure``; accuracy and loss are measured where there is a data set."""
        del request
        context = self.context
        with context.phase("evaluate", context.costs.evaluate):
            stored = open_bundle(draft).stored()
            _check_decoded(stored, symbols)
            decoded = multiply_products(stored)
            scores = self._scores(decoded)
            return measure_network(pruned.original, (stored, decoded), symbols, scores, pruned.accuracy)

    def _scores(self, decoded: Weights) -> Scores | None:
        """Scores on the data set; without one, differences on the inputs that a calibration sets apart."""
        context = self.context
        if context.network is not None:
            return evaluate(context.network, decoded, self.networks.original)
        if context.calibrated is not None:
            return context.calibrated.scores(decoded, self.networks.original)
        return None


def _check_decoded(stored: Weights, symbols: Symbols) -> None:
    """Raise BundleError where the compressible tensors are not those of ``symbols``, bit for bit."""
    vector = symbols.vector()
    for name, part in stored.slices():
        tensor = stored[name]
        check_decoded(name, tensor.data.reshape(-1), dtypes.narrow(vector[part], tensor.dtype))
