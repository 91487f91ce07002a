"""When a run reads its weights chunk by chunk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cnet.errors import SpecError
from cnet.pipeline import Inputs, StreamingSizes
from cnet.pipeline.streaming.choice import reads_in_chunks
from cnet.spec import JobSpec
from cnet.weights import Weights
from tests.unit.cnet.nets import tensor
from tests.unit.cnet.pipeline.small_jobs import blobs, random_weights, training_spec, weights_spec

FOLDER = Path("nothing is written")


def spec_of(**parts: Any) -> JobSpec:
    """A job that can stream, unless ``parts`` say otherwise."""
    return weights_spec(**{"encode": {"name": "compact"}, **parts})


def choices(spec: JobSpec, weights: Weights, **sizes: int) -> list[bool]:
    """What is chosen where the user leaves it open, does not want streaming, and asks for it."""
    wishes = [Inputs(weights, None, FOLDER, asked, StreamingSizes(**sizes)) for asked in (None, False, True)]
    return [reads_in_chunks(spec, inputs, weights) for inputs in wishes]


@pytest.mark.parametrize(
    "parts",
    [
        {"encode": {"name": "npz"}},
        {"quantize": {"name": "ecsq"}},
        {"quantize": {"name": "kmeans", "clusters": 4, "scope": "layer"}},
        {"prune": {"name": "magnitude", "sparsity": 0.5, "scope": "layer"}},
        {"prune": {"name": "lamp", "sparsity": 0.5}},
    ],
)
def test_a_job_that_needs_all_weights_is_refused_where_streaming_is_asked_for(parts: dict[str, Any]) -> None:
    """Where it is left open, such a job is made in memory, however large the network is."""
    weights, sizes = random_weights(), StreamingSizes(least_bytes=0)

    with pytest.raises(SpecError, match=r"^streaming: not possible for this job, .* Turn streaming off\.$") as no:
        reads_in_chunks(spec_of(**parts), Inputs(weights, None, FOLDER, streaming=True), weights)

    assert no.value.code == "cannot_stream"
    assert not reads_in_chunks(spec_of(**parts), Inputs(weights, None, FOLDER, None, sizes), weights)


def test_the_size_of_the_network_decides_unless_the_user_does() -> None:
    """From ``least_bytes`` on."""
    weights = Weights.select([tensor("a", "float32", (30, 30))])

    assert choices(spec_of(), weights) == [False, False, True]
    assert choices(spec_of(), weights, least_bytes=3601) == [False, False, True]
    assert choices(spec_of(), weights, least_bytes=3600) == [True, False, True]


def test_pruning_that_is_not_gradual_streams() -> None:
    """Zero epochs of gradual pruning are none."""
    weights = Weights.select([tensor("a", "float32", (30, 30))])
    at_once = spec_of(prune={"name": "magnitude", "sparsity": 0.5, "gradual": {"epochs": 0}})

    assert choices(at_once, weights, least_bytes=0) == [True, False, True]


def test_tensors_of_float64_do_not_stream() -> None:
    """The vector that is read is float32."""
    weights = Weights.select([tensor("a", "float64", (30, 30))])

    assert not reads_in_chunks(spec_of(), Inputs(weights, None, FOLDER, None, StreamingSizes(least_bytes=0)), weights)


def test_training_does_not_stream() -> None:
    """The network is in memory anyway."""
    with pytest.raises(SpecError, match="a job with a data set or calibration inputs has all weights in memory"):
        reads_in_chunks(training_spec(), Inputs(None, blobs(), FOLDER, streaming=True), None)
    assert not reads_in_chunks(training_spec(), Inputs(None, blobs(), FOLDER), None)
