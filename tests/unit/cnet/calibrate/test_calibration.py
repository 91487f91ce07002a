"""Networks quantized by unlabelled inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from cnet.calibrate import calibration as calibration_module
from cnet.calibrate.calibration import Calibration, Quantizing
from cnet.calibrate.config import Calibrate
from cnet.calibrate.network import OutputComparison
from cnet.calibrate.samples import in_alike_halves
from cnet.calibrate.sensitivity import TensorFisher
from cnet.coding.compact.lanes import common_memory
from cnet.coding.segments import segments_of
from cnet.data import Split
from cnet.errors import DatasetError, StoppedError, TrainingError
from cnet.models import ARCHITECTURES
from cnet.observer import SilentObserver
from cnet.reconstruction import AxisScales
from cnet.symbols import Symbols
from cnet.training.networks.builder import NetworkBuilder
from cnet.training.tasks import TASKS
from cnet.training.tasks.comparison import ClassComparison
from cnet.weights import Weights
from tests.unit.cnet.calibrate.small_calibration import Array, SmallResNet, calibration, digits, kept, trained

FINE = Quantizing(divergence=1e-3)


@pytest.fixture(scope="module")
def network() -> tuple[NetworkBuilder, Weights]:
    """A small residual network and its weights."""
    return trained(SmallResNet())


@pytest.fixture(scope="module")
def resnet8() -> tuple[NetworkBuilder, Weights]:
    """A ResNet-8 and its weights. The outputs of smaller networks say too little for a divergence to be met."""
    return trained(ARCHITECTURES.create("resnet8"))


def quantized(found: Calibration, weights: Weights, quantizing: Quantizing = FINE) -> tuple[Weights, Symbols]:
    """The corrected weights and the symbols."""
    return found.quantize(weights, kept(weights), quantizing, found.sensitivities(weights))


def documents(found: Calibration, weights: Weights) -> dict[str, object]:
    """The sensitivities as JSON."""
    return {name: fisher.to_json() for name, fisher in found.sensitivities(weights).items()}


def steps_of(rows: Array, columns: Array, shape: tuple[int, ...]) -> Array:
    """The relative step of each weight of a tensor of this shape."""
    inner = [1] * (len(shape) - 2)
    return np.ones(shape) * rows.reshape(-1, *[1] * (len(shape) - 1)) * columns.reshape(1, -1, *inner)


def test_the_divergence_on_other_inputs_is_about_the_one_asked_for(resnet8: tuple[NetworkBuilder, Weights]) -> None:
    """Within a factor of six while it is small; and what diverges more has fewer bits."""
    builder, weights = resnet8
    found = calibration(builder, digits(64))
    others = calibration(builder, digits(128, first=600))
    sensitivities, sizes = found.sensitivities(weights), []

    for divergence in (1e-3, 1e-2):
        corrected, symbols = found.quantize(weights, kept(weights), Quantizing(divergence), sensitivities)
        kl = others.compare(weights, corrected.with_vector(symbols.vector()))["kl"]
        assert divergence / 6 < kl < divergence * 6
        sizes.append(symbols.clusters or 0)
    assert sizes[1] < sizes[0]


def test_a_second_run_gives_equal_bits(network: tuple[NetworkBuilder, Weights]) -> None:
    """Labels, steps and corrections."""
    builder, weights = network

    one, other = (quantized(calibration(builder, digits(16)), weights) for _ in range(2))

    assert np.array_equal(one[1].vector(), other[1].vector())
    assert one[0].digest() == other[0].digest()


def test_a_fine_quantization_changes_next_to_nothing(network: tuple[NetworkBuilder, Weights]) -> None:
    """A small divergence asks for small steps."""
    builder, weights = network
    found = calibration(builder, digits(16))

    _, symbols = quantized(found, weights, Quantizing(1e-6, mu=0.0))

    assert symbols.vector() == pytest.approx(weights.vector(), abs=0.02)


def test_pruned_weights_stay_zero(network: tuple[NetworkBuilder, Weights]) -> None:
    """In all tensors."""
    builder, weights = network
    found, keep = calibration(builder, digits(16)), kept(weights)
    keep[::3] = False

    _, symbols = found.quantize(weights, keep, FINE, found.sensitivities(weights))

    assert not symbols.keep[::3].any()


def test_a_pruned_network_diverges_as_much_as_was_asked_for(resnet8: tuple[NetworkBuilder, Weights]) -> None:
    """Its few weights share the divergence: that of the pruned weights, which have no errors, is not set apart."""
    builder, weights = resnet8
    vector = weights.vector()
    keep = np.abs(vector) > np.quantile(np.abs(vector), 0.8)
    pruned, divergence = weights.with_vector(np.where(keep, vector, 0)), 1e-2
    found, others = calibration(builder, digits(64)), calibration(builder, digits(128, first=600))

    corrected, symbols = found.quantize(pruned, keep, Quantizing(divergence), found.sensitivities(pruned))

    kl = others.compare(pruned, corrected.with_vector(symbols.vector()))["kl"]
    assert divergence / 6 < kl < divergence * 6


def test_samples_are_drawn_where_there_are_more(network: tuple[NetworkBuilder, Weights]) -> None:
    """The same ones each time."""
    builder, weights = network
    inputs = digits(200)

    one, other = (documents(calibration(builder, inputs, samples=20), weights) for _ in range(2))

    assert one == other
    assert one != documents(calibration(builder, inputs, samples=21), weights)


def test_inputs_of_another_shape_are_refused_with_both_shapes(network: tuple[NetworkBuilder, Weights]) -> None:
    """What the network takes, and what was given."""
    builder, weights = network

    with pytest.raises(DatasetError, match=r"shape \(3, 8, 8\).* \(1, 8, 8\)") as refusal:
        calibration(builder, np.repeat(digits(8), 3, axis=1)).sensitivities(weights)
    assert refusal.value.code == "wrong_input_shape"


def test_constant_inputs_are_refused(network: tuple[NetworkBuilder, Weights]) -> None:
    """All samples alike say nothing of how inputs vary."""
    builder, weights = network

    with pytest.raises(DatasetError, match="all 8 samples are the same") as refusal:
        calibration(builder, np.repeat(digits(1), 8, axis=0)).sensitivities(weights)
    assert refusal.value.code == "constant_inputs"


def test_inputs_with_constant_outputs_are_refused(network: tuple[NetworkBuilder, Weights]) -> None:
    """Nothing tells then what errors do, by which the labels are chosen or by which they are judged."""
    builder, weights = network
    zeros = {name: np.zeros_like(weights[name].values()) for name in weights.compressible}
    dead = weights.with_arrays(zeros)
    comparison = OutputComparison(
        builder, TASKS.create("classification"), Split({"x": digits(8)}), Calibrate(), SilentObserver()
    )

    for measure in (lambda: calibration(builder, digits(8)).sensitivities(dead), lambda: comparison.scores(dead, dead)):
        with pytest.raises(DatasetError, match="the same outputs for all 8") as refusal:
            measure()
        assert refusal.value.code == "constant_outputs"


def test_few_samples_are_warned_about(network: tuple[NetworkBuilder, Weights]) -> None:
    """Fewer than 8."""
    builder, _ = network

    assert calibration(builder, digits(8)).warnings() == ()
    assert "7 samples are few" in calibration(builder, digits(7)).warnings()[0]


def test_the_layer_that_gives_numbers_that_are_not_finite_is_named(network: tuple[NetworkBuilder, Weights]) -> None:
    """The first one in the order of the network."""
    builder, weights = network
    name = weights.compressible[2]
    broken = weights.with_arrays({name: np.full(weights[name].shape, 3e38, np.float32)})

    with pytest.raises(TrainingError, match=name) as refusal:
        calibration(builder, digits(8)).sensitivities(broken)
    assert refusal.value.code == "not_finite"


def test_a_calibration_stops_within_a_pass(network: tuple[NetworkBuilder, Weights]) -> None:
    """Within a pass."""
    builder, weights = network

    class Stopping(SilentObserver):
        """Asks to stop from the third question on."""

        questions = 0

        def should_stop(self) -> bool:
            """Whether it was asked three times."""
            self.questions += 1
            return self.questions > 2

    with pytest.raises(StoppedError):
        calibration(builder, digits(8), Stopping()).sensitivities(weights)


def test_a_tensor_without_effect_keeps_a_usable_step(network: tuple[NetworkBuilder, Weights]) -> None:
    """Few samples may miss what a tensor does: its step is not without bounds."""
    builder, weights = network
    found = calibration(builder, digits(8))
    sensitivities = found.sensitivities(weights)
    name = weights.compressible[1]
    rows, columns = (
        tuple(0 * half for half in halves) for halves in (sensitivities[name].rows, sensitivities[name].columns)
    )
    sensitivities[name] = TensorFisher(rows, columns)

    _, symbols = found.quantize(weights, kept(weights), FINE, sensitivities)

    part = dict(weights.slices())[name]
    assert np.count_nonzero(symbols.keep[part])


def test_inputs_by_name_are_those_of_the_network(network: tuple[NetworkBuilder, Weights]) -> None:
    """Targets are not used."""
    builder, weights = network
    labelled = Split({"x": digits(16)}, np.zeros(16, np.int64))

    assert documents(calibration(builder, labelled), weights) == documents(calibration(builder, digits(16)), weights)


def test_the_result_is_the_best_on_inputs_set_apart(
    network: tuple[NetworkBuilder, Weights], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of labels by the weights alone and by feedback, each with and without corrections; bytes count as well."""
    builder, weights = network
    found, losses, sizes = calibration(builder, digits(40)), [], []
    measure, count = ClassComparison.divergence, calibration_module.coded_bits

    def recorded(comparison: ClassComparison, *args: Any) -> Tensor:
        loss = measure(comparison, *args)
        losses.append(float(loss))
        return loss

    def counted(symbols: Symbols, original: Weights) -> int:
        sizes.append(count(symbols, original))
        return sizes[-1]

    monkeypatch.setattr(ClassComparison, "divergence", recorded)
    monkeypatch.setattr(calibration_module, "coded_bits", counted)
    corrected, symbols = quantized(found, weights, Quantizing(1e-2, feedback=True))

    apart = in_alike_halves(found.split, found.outputs(found.load(weights), weights)).apart
    with torch.no_grad():
        before, after = (
            torch.cat([found.load(each).module(*batch) for batch in apart])
            for each in (weights, corrected.with_vector(symbols.vector()))
        )
    bits = np.array(sizes)[[0, 0, 1, 1]] / weights.compressible_parameters
    best = int(np.argmin(np.log(losses) + np.log(4) * bits))
    assert float(measure(ClassComparison(), after, before)) == pytest.approx(losses[best])


@pytest.mark.parametrize("feedback", [False, True])
def test_steps_have_a_limit_whatever_the_divergence(network: tuple[NetworkBuilder, Weights], feedback: bool) -> None:
    """In root mean squares of each tensor; along a trellis the unit is half a step."""
    builder, weights = network
    quantizing = Quantizing(100.0, largest_step=0.5, feedback=feedback)

    _, symbols = quantized(calibration(builder, digits(40)), weights, quantizing)

    scales = symbols.reconstruction
    assert isinstance(scales, AxisScales)
    for number, name in enumerate(weights.compressible):
        rows, columns, unit = scales.of_tensor(number)
        relative = weights[name].values() / steps_of(rows, columns, weights[name].shape)
        assert unit <= 0.505 * np.sqrt(np.mean(np.square(relative)))


@pytest.mark.parametrize("feedback", [False, True])
def test_labels_follow_a_trellis(network: tuple[NetworkBuilder, Weights], feedback: bool) -> None:
    """The same one in all tensors, as the encoder asks for."""
    builder, weights = network
    shapes = [weights[name].shape for name in weights.compressible]

    _, symbols = quantized(calibration(builder, digits(40)), weights, Quantizing(1e-2, feedback=feedback))

    multiples = np.zeros(symbols.weights, np.int32)
    multiples[symbols.keep] = symbols.centroids[symbols.labels].astype(np.int32)
    assert common_memory((segment, abs(multiples[segment.place])) for segment in segments_of(shapes)) == 3
