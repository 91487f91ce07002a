"""Samples with the axes that a program takes."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.data import Dataset
from cnet.data.dataset_facts import DatasetFacts
from cnet.data.readings import Reading, choose_readings, dataset_for, facts_for, possible_readings


@pytest.mark.parametrize(
    ("stored", "taken", "reading"),
    [
        ((1, 28, 28), (1, 28, 28), Reading.AS_STORED),
        ((1, 1, 1024), (1, 1024), Reading.WITHOUT_CHANNEL),
        ((1, 6, 100), (6, None), Reading.WITHOUT_CHANNEL),
        ((3, 32, 32), (32, 32, 3), Reading.CHANNELS_LAST),
        ((3, 32, 32), (None, None, None), Reading.AS_STORED),
        ((1, 28, 28), (784,), Reading.FLAT),
        ((3, 8, 8), (192,), Reading.FLAT),
        ((1, 28, 28), (783,), Reading.AS_STORED),
        ((12,), (3, 4), Reading.AS_STORED),
    ],
)
def test_the_reading_is_the_first_that_a_program_takes(
    stored: tuple[int, ...], taken: tuple[int | None, ...], reading: Reading
) -> None:
    """As it is stored where that fits, or where nothing does: the checks then state both shapes."""
    assert choose_readings({"x": stored}, [taken]) == {"x": reading}


@pytest.mark.parametrize("shape", [(1, 4, 6), (3, 4, 6), (7,), (2, 3, 4, 5)])
def test_arrays_and_shapes_agree(shape: tuple[int, ...]) -> None:
    """What is checked of a data set is what a training gets."""
    samples = np.random.default_rng(0).random((5, *shape), np.float32)
    for reading in possible_readings(shape):
        assert reading.array(samples).shape == (5, *reading.shape(shape))


def test_a_data_set_gets_the_axes_of_the_file_again() -> None:
    """All splits of it, and the log says so; its facts have the same shapes."""
    series = np.arange(24, dtype=np.float32).reshape(4, 2, 3)
    stored = Dataset.of_arrays(series[:2, None], np.zeros(2, np.int64), series[2:, None], np.ones(2, np.int64))
    said: list[str] = []

    read = dataset_for(stored, [(2, 3)], said.append)
    facts = facts_for(DatasetFacts({"x": ((1, 2, 3), "float32")}, 2), [(2, 3)])

    assert np.array_equal(read.train.input, series[:2])
    assert np.array_equal(read.test.input, series[2:])
    assert read.input_shapes == {"x": facts.inputs["x"][0]}
    assert len(said) == 1
    assert "(2, 3), as the program takes them" in said[0]
    assert dataset_for(stored, [(1, 2, 3)], said.append) is stored
