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
    if dataset.validation is not None or not share or count < 2:
        return dataset
    held = min(max(1, round(share * count)), count - 1)
    order = np.random.default_rng(seed).permutation(count)
    validation, train = np.sort(order[:held]), np.sort(order[held:])
    return replace(dataset, train=dataset.train.rows(train), validation=dataset.train.rows(validation))
