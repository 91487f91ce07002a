"""The inputs that weights multiply."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from cnet.calibrate.lockstep import Call
from cnet.calibrate.weight_uses import operation_name, use_of

MANY = 10**6


def drawn(call: Call, limit: int = MANY) -> Tensor:
    """The vectors of a call."""
    use = use_of(call.function)
    assert use is not None
    return use.inputs(call, limit, torch.Generator().manual_seed(0))


def products(call: Call) -> Tensor:
    """The weight as a matrix times all vectors: sorted values of what the operation gives without a bias."""
    use = use_of(call.function)
    assert use is not None
    matrix = use.matrix(call.args[1], call)
    return (matrix @ drawn(call).transpose(1, 2)).reshape(-1).sort()[0]


@pytest.mark.parametrize(
    ("function", "inputs", "weight", "options"),
    [
        (torch.conv2d, (3, 4, 9, 8), (6, 4, 3, 2), {}),
        (torch.conv2d, (3, 4, 9, 8), (6, 4, 3, 3), {"stride": (2, 1), "padding": 1, "dilation": (1, 2)}),
        (torch.conv2d, (3, 4, 9, 9), (8, 2, 3, 3), {"padding": "same", "groups": 2}),
        (torch.conv2d, (3, 4, 9, 9), (4, 1, 3, 3), {"padding": "valid", "groups": 4}),
        (torch.conv1d, (3, 4, 9), (5, 4, 3), {"stride": 2}),
        (torch.conv3d, (2, 3, 4, 5, 6), (5, 3, 2, 2, 3), {"padding": [1, 0, 1]}),
        (functional.linear, (3, 7, 5), (4, 5), {}),
        (torch.ops.aten.linear.default, (3, 5), (4, 5), {}),
        (torch.ops.aten.conv2d.default, (3, 4, 9, 8), (6, 4, 3, 2), {"stride": [2, 2]}),
    ],
)
def test_the_weight_times_the_vectors_is_the_result(
    function: Any, inputs: tuple[int, ...], weight: tuple[int, ...], options: dict[str, Any]
) -> None:
    """Every output of the operation is the product of a row and a vector."""
    generator = torch.Generator().manual_seed(0)
    given, kernel = (torch.randn(shape, generator=generator, dtype=torch.float64) for shape in (inputs, weight))
    call = Call(function, (given, kernel), options)

    torch.testing.assert_close(products(call), call.run().reshape(-1).sort()[0])


def test_positional_settings_of_a_convolution_are_read() -> None:
    """Stride, padding, dilation and groups may be given by position."""
    given, kernel = torch.randn(2, 4, 7, 7, dtype=torch.float64), torch.randn(4, 2, 3, 3, dtype=torch.float64)
    call = Call(torch.conv2d, (given, kernel, None, [2, 2], [1, 1], [1, 1], 2), {})

    torch.testing.assert_close(products(call), call.run().reshape(-1).sort()[0])


def test_few_positions_are_drawn_the_same_from_each_sample() -> None:
    """About as many vectors as are asked for, by the seed of the generator."""
    call = Call(torch.conv2d, (torch.randn(5, 3, 32, 32), torch.randn(4, 3, 3, 3)), {})

    vectors = drawn(call, 100)

    assert vectors.shape == (1, 5 * 20, 27)
    assert torch.equal(vectors, drawn(call, 100))


def test_means_of_channels_are_added_to_channels() -> None:
    """A shift by the difference of means makes the means equal."""
    call = Call(torch.conv2d, (torch.randn(5, 3, 8, 8), torch.randn(4, 3, 3, 3)), {})
    use, result = use_of(call.function), call.run()
    assert use is not None

    shifted = result + use.by_channel(-use.channel_means(result), result)

    torch.testing.assert_close(use.channel_means(shifted), torch.zeros(4, dtype=torch.float64), atol=1e-5, rtol=0)


def test_other_operations_use_no_weight_as_a_matrix() -> None:
    """Such as an activation."""
    assert use_of(torch.relu) is None
    assert operation_name(torch.ops.aten.conv2d.default) == operation_name(torch.conv2d) == "conv2d"
