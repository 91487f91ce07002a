"""What makes two runs the same run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cnet.pipeline.digests import dataset_digest, run_key, spec_document
from tests.unit.cnet.pipeline.small_jobs import blobs, training_spec, weights_spec


def test_the_recorded_spec_has_neither_ids_nor_names_of_the_job() -> None:
    """They do not change the weights of a bundle."""
    document = spec_document(training_spec(name="mine", labels={"team": "vision"}, time_limit=60))

    assert not {"name", "labels", "time_limit", "checkpoint", "dataset"} & set(document)
    assert document["recover"]["epochs"] == 2


def test_the_recorded_spec_names_a_built_in_data_set() -> None:
    """An id means nothing on another server; the name of a built-in data set does."""
    assert spec_document(training_spec(dataset="digits"))["dataset"] == "digits"


def test_the_recorded_spec_leaves_out_searched_fields() -> None:
    """A default in their place would look like a request of the user."""
    document = spec_document(weights_spec(prune={"name": "magnitude"}, target={"min_ratio": 5.0}))

    assert "sparsity" not in document["prune"]


@pytest.mark.parametrize(
    ("members", "same"),
    [
        ({"name": "mine", "labels": {"a": "b"}, "time_limit": 5, "checkpoint": "ckpt_2"}, True),
        ({"encode": {"name": "compact"}}, True),
        ({"encode": {"name": "npz"}}, False),
        ({"prune": {"name": "magnitude", "sparsity": 0.5}}, False),
    ],
)
def test_the_key_depends_on_what_decides_the_results(members: dict[str, Any], same: bool) -> None:
    """A default that is written out is the default."""
    keys = [run_key(spec, "weights", None) for spec in (weights_spec(), weights_spec(**members))]

    assert (keys[0] == keys[1]) is same


def test_the_key_depends_on_weights_and_data() -> None:
    """By their digests."""
    spec = weights_spec()

    assert len({run_key(spec, "a", None), run_key(spec, "b", None), run_key(spec, None, "a")}) == 3


def test_the_digest_of_a_data_set_depends_on_every_array() -> None:
    """One label is enough."""
    data = blobs()
    labels = data.test.labels.copy()
    labels[0] = (labels[0] + 1) % 4

    assert dataset_digest(data) == dataset_digest(blobs())
    assert dataset_digest(replace(data, test=replace(data.test, targets=labels))) != dataset_digest(data)
