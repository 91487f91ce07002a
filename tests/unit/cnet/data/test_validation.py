"""Samples for validation are drawn from those for training."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.data import Dataset, Split
from cnet.data.validation import with_validation

TRAIN = Split.of(np.arange(40, dtype=np.float32).reshape(20, 2), np.arange(20))
DATASET = Dataset(TRAIN, Split.of(np.zeros((3, 2), np.float32), np.zeros(3, np.int64)))


@pytest.mark.parametrize(("share", "held"), [(0.1, 2), (0.001, 1), (0.5, 10)])
def test_a_fraction_is_drawn_for_validation(share: float, held: int) -> None:
    """Each sample is in one of the two, with its own target; the test split is not touched."""
    made = with_validation(DATASET, share, 3)

    assert made.validation is not None
    assert (len(made.validation), len(made.train)) == (held, 20 - held)
    assert sorted([*made.train.labels, *made.validation.labels]) == list(range(20))
    assert all(row[0] == 2 * label for row, label in zip(made.validation.input, made.validation.labels, strict=True))
    assert made.test is DATASET.test


def test_the_seed_decides_the_draw() -> None:
    """The same seed, the same samples."""
    drawn = [with_validation(DATASET, 0.25, seed).validation for seed in (0, 0, 1)]
    labels = [split.labels.tolist() for split in drawn if split is not None]

    assert labels[0] == labels[1] != labels[2]


def test_without_a_fraction_or_with_a_validation_split_nothing_is_drawn() -> None:
    """The same holds for a training split of one sample."""
    own = Dataset(TRAIN, DATASET.test, DATASET.test)
    single = Dataset(TRAIN.rows(np.array([0])), DATASET.test)

    assert with_validation(DATASET, 0.0, 0) is DATASET
    assert with_validation(own, 0.1, 0) is own
    assert with_validation(single, 0.1, 0) is single
