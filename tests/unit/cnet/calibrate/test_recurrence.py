"""Recurrent layers, taken apart into the weights of single layers and directions."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn

from cnet.calibrate.lockstep import Lockstep
from cnet.calibrate.recurrence import quantize_recurrence, recurrent_weights, run_with
from cnet.calibrate.samples import Samples
from cnet.calibrate.second_moments import Moments
from cnet.calibrate.sequence import LayerInputs, quantize_in_sequence

KINDS = [nn.LSTM, nn.GRU]


class Network(nn.Module):
    """Two bidirectional layers, of which the outputs of all steps are given."""

    def __init__(self, kind: type[nn.LSTM] | type[nn.GRU], *, bias: bool = True) -> None:
        super().__init__()
        self.cells = kind(5, 4, num_layers=2, bidirectional=True, batch_first=True, bias=bias)

    def forward(self, values: Tensor) -> Tensor:
        """All hidden states of the second layer."""
        found: Tensor = self.cells(values)[0]
        return found


def network(kind: type[nn.LSTM] | type[nn.GRU], *, bias: bool = True) -> Network:
    """A network with the same weights each time."""
    torch.manual_seed(0)
    return Network(kind, bias=bias).eval()


def batches() -> tuple[tuple[Tensor], tuple[Tensor]]:
    """Two batches of sequences."""
    generator = torch.Generator().manual_seed(1)
    return (torch.randn(6, 7, 5, generator=generator),), (torch.randn(3, 7, 5, generator=generator),)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bias", [True, False])
@torch.no_grad()
def test_quantized_weights_give_what_a_network_of_them_gives(kind: type[nn.LSTM], bias: bool) -> None:
    """Each weight is quantized once, with vectors of as many columns as it has."""
    module, seen = network(kind, bias=bias), 0

    def quantize(weight: Tensor, one: Sequence[Tensor], other: Sequence[Tensor]) -> Tensor:
        nonlocal seen
        seen += 1
        assert {each.shape[-1] for each in (*one, *other)} == {weight.shape[1]}
        return (weight * 4).round() / 4

    passes = Lockstep(module, [*batches(), *batches()], lambda function, args: bool(recurrent_weights(function, args)))
    for calls in passes:
        made = quantize_recurrence(calls[:2], calls[2:], quantize)
        for call in calls[:2]:
            call.result = call.run()
        for call in calls[2:]:
            call.result = run_with(call, made)

    rounded = copy.deepcopy(module)
    for name, weight in rounded.named_parameters():
        if name.startswith("cells.weight"):
            weight.copy_((weight * 4).round() / 4)
    assert seen == 8
    for batch, output in zip(batches(), passes.outputs[2:], strict=True):
        assert torch.allclose(output, rounded(*batch), atol=1e-6)


@torch.no_grad()
def test_the_inputs_of_a_weight_are_those_that_it_multiplies() -> None:
    """The gates of the first step of the first layer follow from inputs and hidden states."""
    module = network(nn.LSTM)
    found: dict[str, LayerInputs] = {}

    def keep(name: str, layer: LayerInputs) -> Tensor:
        found[name] = layer
        return layer.weight

    names = {id(weight): name for name, weight in module.state_dict(keep_vars=True).items()}
    quantized = quantize_in_sequence(module, names, Samples(batches(), (False, True)), keep)

    first = batches()[0][0].reshape(1, -1, 5)
    assert torch.allclose(found["cells.weight_ih_l0"].halves[0].own, Moments.of(first, first).own)
    assert len(found) == 8
    assert torch.allclose(torch.cat(quantized.outputs), torch.cat([module(*batch) for batch in batches()]), atol=1e-6)


def test_projections_are_not_taken_apart() -> None:
    """Their weights are quantized without inputs."""
    cells = nn.LSTM(5, 4, proj_size=2, batch_first=True)
    args = (torch.zeros(1, 2, 5), (), list(cells.parameters()), True, 1, 0.0, False, False, True)

    assert recurrent_weights(torch.lstm, args) == ()
    assert recurrent_weights(torch.relu, args) == ()
