"""Runs that end early and go on: the bundles are those of an undisturbed run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cnet.errors import StoppedError
from cnet.pipeline import Inputs, Outcome, SilentRunObserver, run
from tests.unit.cnet.pipeline.small_jobs import (
    Recorder,
    compress,
    digests,
    random_weights,
    train_and_compress,
    weights_spec,
)

Events = list[tuple[str, Any]]
PHASES = ("load", "baseline", "finetune", "prune", "recover", "quantize", "encode", "evaluate", "publish")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome, Recorder]:
    """Folder, outcome and observer of a run that nobody ended."""
    folder, recorder = tmp_path_factory.mktemp("run"), Recorder()
    return folder, train_and_compress(folder, recorder), recorder


@pytest.fixture(scope="module")
def undisturbed(finished: tuple[Path, Outcome, Recorder]) -> tuple[list[str], Events]:
    """Digests and events of that run."""
    _, outcome, recorder = finished
    return digests(outcome), recorder.events


@pytest.fixture(scope="module")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """The outcome of a run on weights alone that nobody ended."""
    return compress(tmp_path_factory.mktemp("weights"))


def _in_phase(name: str, times: int) -> Callable[[Events], bool]:
    """True from the first event after the phase ``name`` has begun ``times`` times."""

    def reached(events: Events) -> bool:
        return events.count(("phase", name)) >= times and events[-1] != ("phase", name)

    return reached


def _just(name: str, times: int) -> Callable[[Events], bool]:
    """True at the moment at which the phase ``name`` begins for the ``times``-th time."""
    return lambda events: events[-1] == ("phase", name) and events.count(("phase", name)) == times


def _at(kind: str, count: int) -> Callable[[Events], bool]:
    """True at the ``count``-th event of a kind."""
    return lambda events: events[-1][0] == kind and sum(name == kind for name, _ in events) == count


@pytest.mark.parametrize(
    ("phase", "times"),
    [
        *(("load", 1), ("baseline", 1), ("finetune", 1), ("prune", 1), ("prune", 2), ("recover", 1), ("recover", 2)),
        *(("quantize", 2), ("encode", 3), ("evaluate", 1), ("evaluate", 4), ("publish", 1), ("publish", 4)),
    ],
)
def test_stopped_run_goes_on(tmp_path: Path, undisturbed: tuple[list[str], Events], phase: str, times: int) -> None:
    """Stopped in some passage of each phase, the run says so, and the next one finishes it."""
    with pytest.raises(StoppedError) as caught:
        train_and_compress(tmp_path, Recorder(stop=_in_phase(phase, times)))
    assert caught.value.phase in PHASES
    assert digests(train_and_compress(tmp_path)) == undisturbed[0]


@pytest.mark.parametrize("phase", PHASES)
def test_killed_run_goes_on(tmp_path: Path, undisturbed: tuple[list[str], Events], phase: str) -> None:
    """Broken off without any warning where a phase begins for the last time."""
    times = undisturbed[1].count(("phase", phase))
    with pytest.raises(KeyboardInterrupt):
        train_and_compress(tmp_path, Recorder(crash=_just(phase, times)))
    assert digests(train_and_compress(tmp_path)) == undisturbed[0]


@pytest.mark.parametrize(("kind", "stride"), [("progress", 7), ("metric", 2), ("baseline", 1), ("point", 1)])
def test_a_run_that_is_killed_repeatedly_finishes(
    tmp_path: Path, undisturbed: tuple[list[str], Events], kind: str, stride: int
) -> None:
    """Each attempt lives a little longer than the one before; together they make each step once."""
    attempts: list[Recorder] = []
    while True:
        limit = stride * (len(attempts) + 1)
        attempts.append(Recorder(crash=_at(kind, limit)))
        try:
            outcome = train_and_compress(tmp_path, attempts[-1])
        except KeyboardInterrupt:
            continue
        break
    assert len(attempts) > 1
    assert digests(outcome) == undisturbed[0]


def test_resumed_training_says_from_which_epoch(tmp_path: Path, undisturbed: tuple[list[str], Events]) -> None:
    """Killed after the first of two epochs of fine-tuning, the log names the epoch that it goes on after."""

    def after_first_epoch(events: Events) -> bool:
        return events[-1][0] == "metric" and events[-1][1]["phase"] == "finetune"

    def in_second_epoch(events: Events) -> bool:
        return any(after_first_epoch(events[:i]) for i in range(1, len(events))) and events[-1][0] == "progress"

    with pytest.raises(KeyboardInterrupt):
        train_and_compress(tmp_path, Recorder(crash=in_second_epoch))
    recorder = Recorder()
    assert digests(train_and_compress(tmp_path, recorder)) == undisturbed[0]
    assert any(line.startswith("finetune: resumes after epoch 1") for line in recorder.of("log"))
    assert not [m for m in recorder.of("metric") if m["phase"] == "baseline" and "epoch" in m]


SEARCH: dict[str, Any] = {
    "prune": None,
    "quantize": None,
    "recover": {"epochs": 1, "centroid_epochs": 1},
    "target": {"max_accuracy_drop": 5},
}


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome, Recorder]:
    """Folder, outcome and observer of a search that nobody ended."""
    folder, recorder = tmp_path_factory.mktemp("search"), Recorder()
    return folder, train_and_compress(folder, recorder, **SEARCH), recorder


def test_killed_search_makes_the_same_points(tmp_path: Path, searched: tuple[Path, Outcome, Recorder]) -> None:
    """Broken off after each third point, it goes on with the candidate that an undisturbed one would make."""
    _, undisturbed, recorder = searched
    asked = [(p.sparsity_requested, p.quantizer, p.clusters_requested, p.step) for p in undisturbed.points]
    assert len(set(asked)) == len(asked)
    assert len({sparsity for sparsity, *_ in asked}) < len(asked)  # it came back to some sparsity
    recoveries = recorder.of("phase").count("recover")
    assert recoveries == len({sparsity for sparsity, *_ in asked})
    for limit in range(3, len(asked), 3):
        with pytest.raises(KeyboardInterrupt):
            train_and_compress(tmp_path, Recorder(crash=_at("point", limit)), **SEARCH)
    again = Recorder()
    assert train_and_compress(tmp_path, again, **SEARCH) == replace_bundles(undisturbed, tmp_path)
    assert again.of("progress") == sorted(again.of("progress"))


def test_a_finished_search_is_reported_again_without_recomputing(searched: tuple[Path, Outcome, Recorder]) -> None:
    """What the search needs to know of the weights is stored with the points."""
    folder, outcome, _ = searched
    again = Recorder()
    assert train_and_compress(folder, again, **SEARCH) == outcome
    assert again.of("phase") == ["load"]


def replace_bundles(outcome: Outcome, folder: Path) -> Outcome:
    """The same outcome of a run in another folder."""
    return replace(outcome, bundles=tuple(folder / "bundles" / path.name for path in outcome.bundles))


def test_a_finished_run_is_reported_again_without_recomputing(finished: tuple[Path, Outcome, Recorder]) -> None:
    """The same baseline, points and selection are reported; the only phase is ``load``."""
    folder, outcome, first = finished
    again = Recorder()
    assert train_and_compress(folder, again) == outcome
    assert again.of("phase") == ["load"]
    assert again.of("point") == first.of("point")
    assert again.of("progress")[-1] == 1.0


def test_folder_of_another_spec_is_not_used(tmp_path: Path, untrained: Outcome) -> None:
    """Its files are removed, and the run starts anew."""
    compress(tmp_path, prune={"name": "magnitude", "sparsity": 0.3})
    recorder = Recorder()
    outcome = compress(tmp_path, recorder)
    assert digests(outcome) == digests(untrained)
    assert "prune" in recorder.of("phase")


def test_folder_of_other_weights_is_not_used(tmp_path: Path) -> None:
    """Same spec, another checkpoint: nothing is taken over."""
    compress(tmp_path)
    outcome = run(weights_spec(), Inputs(random_weights(1), None, tmp_path), SilentRunObserver())
    assert outcome.points[0].mse != compress(tmp_path).points[0].mse


@pytest.mark.parametrize("phase", [p for p in PHASES if p not in ("finetune", "recover")])
def test_stopped_run_on_weights_alone_goes_on(tmp_path: Path, untrained: Outcome, phase: str) -> None:
    """The same without training."""
    with pytest.raises(StoppedError):
        compress(tmp_path, Recorder(stop=_in_phase(phase, 1)))
    assert digests(compress(tmp_path)) == digests(untrained)


def test_stop_is_asked_between_all_steps(tmp_path: Path) -> None:
    """There is a poll in each phase that makes something."""
    recorder = Recorder()
    compress(tmp_path, recorder)
    phase, polled = "", set()
    for kind, value in recorder.events:
        phase = value if kind == "phase" else phase
        if kind == "poll":
            polled.add(phase)
    assert {"prune", "quantize", "encode", "publish"} <= polled


def test_an_exception_of_the_observer_leaves_a_valid_folder(tmp_path: Path, untrained: Outcome) -> None:
    """The observer's exception is raised unchanged, and the next run resumes."""

    def broken(events: Events) -> bool:
        if events[-1][0] == "point":
            raise RuntimeError("the database is gone")
        return False

    with pytest.raises(RuntimeError, match="the database is gone"):
        compress(tmp_path, Recorder(crash=broken))
    assert digests(compress(tmp_path)) == digests(untrained)
