"""Labels along a trellis with error feedback by second moments."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor

from cnet.calibrate.second_moments import FeedbackFactors, shrink
from cnet.calibrate.trellis_feedback import BLOCK, Layer, choose_multiples
from cnet.coding.compact.lanes import trellis_memory
from cnet.coding.segments import segments_of
from cnet.coding.trellis import path_multiples
from cnet.quantize.weights_alone.label_choice import LabelBits

MEMORY = 3
SHRINKAGE = 0.02


def moments(seed: int, groups: int, columns: int) -> Tensor:
    """Second moments of correlated inputs: shape (groups, columns, columns)."""
    generator = torch.Generator().manual_seed(seed)
    mixing = torch.randn(groups, columns, columns, generator=generator, dtype=torch.float64)
    inputs = torch.randn(groups, 3 * columns, columns, generator=generator, dtype=torch.float64) @ mixing + 0.5
    return inputs.transpose(1, 2) @ inputs / (3 * columns)


def layer(
    seed: int, shape: tuple[int, ...], unit: float, own: Tensor, *, groups: int = 1, keep: Tensor | None = None
) -> Layer:
    """Normally distributed weights of a tensor, in units."""
    generator = torch.Generator().manual_seed(seed)
    rows = shape[0] // groups
    weights = torch.randn(groups, rows, own.shape[-1], generator=generator, dtype=torch.float64) / unit
    kept = torch.ones_like(weights, dtype=torch.bool) if keep is None else keep
    bits = LabelBits.none(weights.reshape(-1).numpy().astype(np.float32))
    return Layer(weights, kept, FeedbackFactors.of(own, SHRINKAGE), shape, bits, 0.0)


def chosen(given: Layer, memory: int = MEMORY) -> Tensor:
    """The multiples of a layer in which none is pruned."""
    multiples = choose_multiples(given, memory)
    assert multiples is not None
    return multiples


def error(multiples: Tensor, given: Layer, own: Tensor) -> float:
    """Error d H d^T under the moments that the factors are made of, in squares of the unit."""
    change = multiples - given.weights
    return float(((change @ shrink(own, SHRINKAGE)) * change).sum())


def follows(multiples: Tensor, shape: tuple[int, ...]) -> bool:
    """Whether the encoder finds the trellis in each segment."""
    flat = multiples.abs().reshape(-1).numpy().astype(np.int32)
    return all(trellis_memory(segment, flat[segment.place]) == MEMORY for segment in segments_of([shape]))


@pytest.mark.parametrize(
    ("shape", "groups"),
    [((20, BLOCK), 1), ((20, BLOCK + 2), 1), ((7, 300), 1), ((30, 8, 3, 3), 1), ((12, 32, 3, 3), 1), ((8, 70), 4)],
)
@pytest.mark.parametrize("unit", [0.05, 1.0])
def test_labels_follow_the_trellis_with_less_error_than_the_nearest(
    shape: tuple[int, ...], groups: int, unit: float
) -> None:
    """The error of the layer is less than that of rounding to the step size, which is two units."""
    own = moments(0, groups, int(np.prod(shape[1:])))
    given = layer(0, shape, unit, own, groups=groups)

    multiples = chosen(given)

    assert follows(multiples, shape)
    nearest = 2 * (given.weights / 2).round()
    assert error(multiples, given, own) < 0.7 * error(nearest, given, own)


def test_the_path_of_a_short_row_is_the_best_one() -> None:
    """As by exhaustive search over all paths, where inputs are not correlated, so that errors are not passed on."""
    own = torch.diag_embed(torch.linspace(1, 3, 5, dtype=torch.float64))[None]
    given = layer(1, (1, 5), 0.5, own)

    multiples = chosen(given)

    signs = np.sign(given.weights.numpy().reshape(1, -1))
    paths = [
        torch.from_numpy(path_multiples(np.array([steps]), MEMORY) * signs) for steps in product(range(4), repeat=5)
    ]
    assert error(multiples, given, own) == pytest.approx(min(error(path[None], given, own) for path in paths))


def test_the_second_weight_makes_up_for_the_first() -> None:
    """It moves to where the derivative of the error by it is 0."""
    own = torch.tensor([[[2.0, 0.6], [0.6, 1.0]]], dtype=torch.float64)
    given = layer(0, (1, 2), 1.0, own)
    pruned = torch.tensor([[[False, True]]])
    weights = torch.tensor([[[3.0, 500.0]]], dtype=torch.float64)
    bits = LabelBits.none(np.array([600.0], np.float32))

    multiples = chosen(replace(given, weights=weights, keep=pruned, bits=bits, factors=FeedbackFactors.of(own, 0.0)))

    assert multiples.tolist() == [[[0.0, 2 * round((500.0 + 3.0 * 0.6) / 2)]]]


def test_a_price_of_bits_makes_more_zeros_and_fewer_bits() -> None:
    """Zero is the cheapest label."""
    own = moments(2, 1, BLOCK)
    free = layer(2, (40, BLOCK), 0.5, own)
    bits = LabelBits.of((40, BLOCK), free.weights.reshape(-1).numpy().astype(np.float32), np.ones(40 * BLOCK, bool))

    one = chosen(free)
    other = chosen(replace(free, bits=bits, price=float(free.factors.harm.mean())))

    assert int((other == 0).sum()) > int((one == 0).sum())
    assert float(other.abs().sum()) < float(one.abs().sum())
    assert follows(other, (40, BLOCK))


def test_pruned_weights_stay_zero_and_the_others_make_up_for_them() -> None:
    """Their errors are passed on like those of rounding."""
    own = moments(3, 1, 2 * BLOCK)
    keep = torch.rand(1, 10, 2 * BLOCK, generator=torch.Generator().manual_seed(0)) > 0.3
    given = layer(3, (10, 2 * BLOCK), 0.05, own, keep=keep)

    multiples = chosen(given)

    assert bool((multiples[~keep] == 0).all())
    assert follows(multiples, (10, 2 * BLOCK))
    nearest = 2 * (given.weights / 2).round() * keep
    assert error(multiples, given, own) < 0.8 * error(nearest, given, own)


def test_pruned_ends_of_rows_may_allow_no_path() -> None:
    """The state after a long run of zeros follows from the one before."""
    own = moments(4, 1, 2 * BLOCK)
    keep = torch.ones(1, 10, 2 * BLOCK, dtype=torch.bool)
    keep[..., BLOCK:] = False

    assert choose_multiples(layer(4, (10, 2 * BLOCK), 0.3, own, keep=keep), MEMORY) is None


def test_dead_inputs_take_no_errors_of_others() -> None:
    """A column whose inputs are always 0 is not divided by, and is rounded by itself."""
    own = moments(5, 1, BLOCK)
    own[:, 3, :] = own[:, :, 3] = 0
    given = layer(5, (5, BLOCK), 0.02, own)

    multiples = chosen(given)

    assert bool(((multiples[..., 3] - given.weights[..., 3]).abs() <= 4).all())
