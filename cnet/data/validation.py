"""Set samples for validation apart from those for training."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cnet.data.dataset import Dataset


def with_validation(dataset: Dataset, share: float, seed: int) -> Dataset:
    """The data set with a validation split: its own, or one drawn at random from its training split.

    Args:
        dataset: where it has a validation split, it is returned as it is.
        share: of the training samples that become the validation split, 0..1; at least one does, and at least one
            stays. 0, or a training split of one sample: no validation split is made.
        seed: of the draw.
    """
    count = len(dataset.train)
    held = validation_samples(count, share)
    if dataset.validation is not None or not held:
        return dataset
    order = np.random.default_rng(seed).permutation(count)
    validation, train = np.sort(order[:held]), np.sort(order[held:])
    return replace(dataset, train=dataset.train.rows(train), validation=dataset.train.rows(validation))


def validation_samples(count: int, share: float) -> int:
    """How many of ``count`` training samples become the validation split for a ``share`` of 0..1; 0: none is made."""
    return min(max(1, round(share * count)), count - 1) if share and count > 1 else 0
