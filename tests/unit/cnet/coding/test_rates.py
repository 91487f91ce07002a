"""What labels cost: the bits that are predicted are those that the encoder spends."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from cnet.coding import ENCODERS
from cnet.coding.compact.encoder import Compact, CompactLimits
from cnet.coding.rates import RateModel, choose_along_lanes, segments_of
from cnet.coding.trellis import path_multiples
from cnet.symbols import Symbols
from tests.unit.cnet.coding.symbols import Shapes

SHAPES: Shapes = [(64, 32, 3, 3), (100, 120)]


def magnitudes(seed: int = 0) -> npt.NDArray[np.int32]:
    """Rows of different scales, a third of the weights zero."""
    rng = np.random.default_rng(seed)
    parts = [rng.laplace(size=s) * np.exp(rng.normal(size=s[0])).reshape(-1, *[1] * (len(s) - 1)) for s in SHAPES]
    return np.rint(np.abs(np.concatenate([part.reshape(-1) for part in parts])) * 3).astype(np.int32)


def test_predicted_bits_are_those_that_are_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within 3 % for mask and labels together."""
    monkeypatch.setattr(Compact, "limits", CompactLimits(deflated=-1))
    (segment,) = segments_of(SHAPES)
    given = magnitudes()
    negative = np.random.default_rng(1).random(len(given)) < 0.5
    signed = np.where(negative, -given, given)
    used, labels = np.unique(signed[signed != 0], return_inverse=True)
    symbols = Symbols(
        signed != 0, labels.astype(np.uint16), (used + np.sign(used) * 0.123 * used**2).astype(np.float32)
    )
    streams, _ = ENCODERS.create("compact").encode(symbols, SHAPES)

    rates = RateModel.fit(segment, given).rates(given, np.zeros(len(given), np.uint8), int(given.max()))

    predicted = float(rates.of(given, 0).sum()) / 8
    assert predicted == pytest.approx(len(streams["mask"]) + len(streams["labels"]), rel=0.03)


def test_rare_magnitudes_cost_more() -> None:
    """In every context; zeros are cheap where most weights are zero."""
    (segment,) = segments_of(SHAPES)
    given = magnitudes() // 4
    rates = RateModel.fit(segment, given).rates(given, np.zeros(len(given), np.uint8), 40)

    assert rates.bits.shape[2] == 41
    assert np.all(rates.bits[0, :, 40] > rates.bits[0, :, 1])
    assert rates.of(np.zeros_like(given), 0).mean() < rates.of(np.ones_like(given), 0).mean()


def test_choices_follow_the_lanes_of_a_trellis() -> None:
    """Each lane's steps are those of its weights, in the order of w_net."""
    (segment,) = segments_of(SHAPES)
    costs = np.arange(segment.size, dtype=np.float32)
    lengths: list[int] = []

    def choose(lanes: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8]:
        lengths.append(lanes.shape[0])
        assert lanes.shape[2] == 2
        return (lanes[:, :, 0] % 251).astype(np.uint8)

    found = choose_along_lanes(segment, [costs, costs], choose)

    np.testing.assert_array_equal(found, (np.arange(segment.size) % 251).astype(np.uint8))
    assert lengths == [288, 288]
    assert path_multiples(np.zeros((1, 288), np.int32), 3).shape == (1, 288)
