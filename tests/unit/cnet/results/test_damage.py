"""Warnings about damage: by the signal-to-noise ratio where no accuracy is known, and a verdict in one line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cnet.results.damage import ResultWarning, foreseen, verdict, warnings_about
from cnet.results.points import LayerResult, Point, TaskScore
from tests.unit.cnet.points_at_hand import a_baseline, a_point


def point_with(
    snr_db: float | None,
    *layers: float | None,
    accuracy: float | None = None,
    agreement: float | None = None,
    outputs: float | None = None,
) -> Point:
    """A point with its warnings, and with layers of these signal-to-noise ratios."""
    rows = tuple(
        LayerResult(f"layer.{place}", (2, 2), 4, 4, 0.0, 0.1, 2, 1.0, layer) for place, layer in enumerate(layers)
    )
    point = replace(a_point(0, 500, accuracy), snr_db=snr_db, layers=rows, agreement=agreement, output_snr_db=outputs)
    return replace(point, warnings=warnings_about(point, a_baseline()))


def error_of(value: float) -> TaskScore:
    """A mean squared error."""
    return TaskScore("mse", "", value, None, higher_is_better=False)


@pytest.mark.parametrize(
    ("point", "codes"),
    [
        (point_with(44.0, 50.0, 40.0), [("accuracy_unknown", None)]),
        (point_with(5.0, 20.0), [("accuracy_unknown", None), ("likely_ruined", None)]),
        (point_with(20.0, 20.0, 3.0), [("accuracy_unknown", None), ("layer_ruined", "layer.1")]),
        (point_with(None), []),
        (point_with(5.0, 3.0, accuracy=90.0), []),
        (point_with(5.0, 3.0, accuracy=68.0), []),
        (point_with(30.0, 30.0, accuracy=67.0), [("likely_ruined", None)]),
        (point_with(5.0, 3.0, agreement=80.0), []),
        (point_with(30.0, 30.0, agreement=70.0), [("likely_ruined", None)]),
        (point_with(5.0, 3.0, outputs=32.0), []),
        (point_with(30.0, 30.0, outputs=7.0), [("likely_ruined", None)]),
    ],
)
def test_each_warning_has_its_code_and_tensor(point: Point, codes: list[tuple[str, str | None]]) -> None:
    """And ends with what to do."""
    assert [(warning.code, warning.tensor) for warning in point.warnings] == codes
    assert all(warning.detail.endswith(".") for warning in point.warnings)


@pytest.mark.parametrize(
    ("inputs", "told"), [(1, "one input alone"), (19, "19 inputs alone"), (20, None), (None, None)]
)
def test_outputs_compared_on_few_inputs_are_warned_about(inputs: int | None, told: str | None) -> None:
    """An agreement of 100 % on one input is no measurement; where a data set measures there is no such number."""
    point = replace(point_with(20.0, agreement=100.0), compared_inputs=inputs)

    found = [each.detail for each in warnings_about(point, a_baseline()) if each.code == "few_inputs"]

    assert len(found) == (told is not None)
    assert all(f"measured on {told}" in detail and "Give 100 calibration inputs" in detail for detail in found)


@pytest.mark.parametrize(("after", "ruined"), [(0.03, False), (0.05, True)])
def test_an_error_that_has_become_four_times_as_large_is_told(after: float, *, ruined: bool) -> None:
    """Where lower is better."""
    point = replace(a_point(0, 500, None), snr_db=20.0, metric=error_of(after))

    warnings = warnings_about(point, replace(a_baseline(), accuracy=None, metric=error_of(0.01)))

    told = [warning.detail.startswith("mse: it was 0.01 before compression and is 0.05 now") for warning in warnings]
    assert told == [True] * ruined


def test_few_of_many_ruined_tensors_are_named() -> None:
    """The first five, with the number of all others."""
    warnings = point_with(4.0, *[3.0] * 9).warnings

    assert [warning.tensor for warning in warnings[2:]] == [f"layer.{place}" for place in range(5)]
    assert all(str(warning.tensor) in warning.detail for warning in warnings[2:])
    assert [" more tensors" in warning.detail for warning in warnings[2:]] == [False] * 4 + [True]
    assert "4 more tensors" in warnings[-1].detail


@pytest.mark.parametrize(
    ("sparsity", "bits", "codes"),
    [
        (0.0, 32.0, []),
        (0.0, 8.0, ["accuracy_unknown"]),
        (0.9, 8.0, ["accuracy_unknown", "likely_ruined"]),
        (0.0, 1.0, ["accuracy_unknown", "likely_ruined"]),
    ],
)
def test_damage_is_foreseen(sparsity: float, bits: float, codes: list[str]) -> None:
    """From what the job asks for."""
    assert [warning.code for warning in foreseen(sparsity, bits)] == codes


@pytest.mark.parametrize(
    ("point", "said"),
    [
        (point_with(44.0), "not measured"),
        (point_with(5.0), "likely ruined"),
        (point_with(30.0, 2.0), "likely ruined"),
        (point_with(None), "lossless"),
        (point_with(10.0, accuracy=89.5), "measured, accuracy 89.5 % on the test split, 90 % before compression"),
        (point_with(10.0, accuracy=12.5), "ruined, accuracy 12.5 % on the test split, 90 % before compression"),
        (point_with(30.0, agreement=99.25), "measured, predictions agree with the original by 99.25 %"),
        (point_with(30.0, agreement=9.0), "ruined, predictions agree with the original by 9.00 %"),
        (point_with(9.0, 3.0, outputs=32.0), "measured, noise in the outputs is 32.0 dB below those of the original"),
        (point_with(30.0, outputs=7.0), "ruined, noise in the outputs is 7.0 dB below"),
    ],
)
def test_the_verdict_is_one_line(point: Point, said: str) -> None:
    """With the noise where nothing was measured."""
    line = verdict(a_baseline(), point)

    assert said in line
    assert "\n" not in line


@pytest.mark.parametrize(("accuracy", "worst", "warned"), [(None, 2.0, True), (90.0, 2.0, True), (None, 4.0, False)])
def test_a_lost_channel_is_warned_about(accuracy: float | None, worst: float, warned: bool) -> None:
    """Also where the score of the task is good: one of many channels hardly shows in it."""
    point = replace(point_with(30.0, accuracy=accuracy, outputs=15.0), worst_output_snr_db=worst)

    found = [each.detail for each in warnings_about(point, a_baseline()) if each.code == "output_lost"]

    assert len(found) == warned
    assert all(f"{worst:.1f} dB" in detail for detail in found)
    told = verdict(a_baseline(), replace(point, warnings=warnings_about(point, a_baseline())))
    assert told.startswith("verdict: a channel of the outputs is lost, ") == warned
    assert f"15.0 dB ({worst:.1f} dB in the worst channel) below those of the original" in told


def test_the_verdict_on_doubtful_outputs_says_so() -> None:
    """Their agreement may be that of what are no classes."""
    point = point_with(30.0, agreement=99.25)

    line = verdict(a_baseline(), replace(point, warnings=(ResultWarning("outputs_doubtful", "Why."),)))

    assert line.startswith("verdict: doubtful, predictions agree")


@pytest.mark.parametrize(
    ("inputs", "said"), [(20, "the original by 99.25 % on 20 inputs, KL"), (None, "the original by 99.25 %, KL")]
)
def test_the_verdict_says_on_how_many_inputs_agreement_was_measured(inputs: int | None, said: str) -> None:
    """Where a calibration set them apart; with their divergence."""
    point = replace(point_with(30.0, agreement=99.25), kl=0.0123, compared_inputs=inputs)

    line = verdict(a_baseline(), point)

    assert said in line
    assert "KL 0.012 nats" in line


def test_the_warning_of_a_low_agreement_says_on_how_many_inputs() -> None:
    """So that few of them are not taken for many."""
    point = replace(point_with(30.0, agreement=70.0), compared_inputs=20)

    (warning,) = warnings_about(point, a_baseline())

    assert "only 70.00 % on 20 inputs" in warning.detail


def test_warnings_read_back_from_json() -> None:
    """As part of a point."""
    point = point_with(5.0, 3.0)

    assert Point.from_json(point.to_metrics()) == point
    assert ResultWarning(**point.warnings[0].to_json()) == point.warnings[0]
