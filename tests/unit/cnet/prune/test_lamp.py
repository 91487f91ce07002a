"""LAMP: the score, and what it does to layers of different scale."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from cnet.prune import PRUNERS
from cnet.weights import Tensor, Weights


def net(*values: npt.NDArray[np.float32]) -> Weights:
    """Weights of these tensors, all compressible."""
    tensors = [Tensor(str(index), "float32", value) for index, value in enumerate(values)]
    return Weights(tuple(tensors), tuple(t.name for t in tensors))


def test_score_is_the_square_over_the_squares_not_smaller() -> None:
    """Written out: 1/14, 4/13 and 9/9; a tensor of its own starts anew."""
    scores = PRUNERS.create("lamp").saliency(net(np.float32([[1, -3, 2]]), np.float32([[10, 0]])), None)
    assert scores.tolist() == pytest.approx([1 / 14, 1, 4 / 13, 1, 0])


def test_the_scale_of_a_layer_does_not_count() -> None:
    """A layer times a thousand is pruned as before, where one threshold on |w| would empty the other."""
    rng = np.random.default_rng(2)
    one, two = rng.normal(size=(20, 10)).astype(np.float32), rng.normal(size=(10, 10)).astype(np.float32)
    lamp = PRUNERS.create("lamp")
    mask = lamp.keep(net(one, two), 0.9)
    assert np.array_equal(mask, lamp.keep(net(1024 * one, two), 0.9))
    assert np.count_nonzero(mask) == 30
    assert not PRUNERS.create("magnitude").keep(net(1024 * one, two), 0.9)[200:].any()


def test_each_layer_keeps_a_weight() -> None:
    """Where as many weights as tensors are left, each tensor keeps its largest one."""
    rng = np.random.default_rng(3)
    weights = net(*(scale * rng.normal(size=(5, 4)).astype(np.float32) for scale in (1, 1e-4, 1e3)))
    mask = PRUNERS.create("lamp").keep(weights, 0.95)
    for _, part in weights.slices():
        assert np.flatnonzero(mask[part]).tolist() == [int(np.argmax(np.abs(weights.vector()[part])))]
