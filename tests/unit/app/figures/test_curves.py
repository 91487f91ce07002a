"""The curves of a training."""

from __future__ import annotations

from app.figures import svg
from app.figures.curves import curves_of, plot

EPOCHS = [
    {"phase": "finetune", "epoch": 1, "epochs": 2, "loss": 2.0, "train_accuracy": 90.0, "lambda": 0.1},
    {"phase": "finetune", "epoch": 2, "epochs": 2, "loss": 1.0, "train_accuracy": 95.0, "lambda": 0.1},
    {"phase": "recover", "epoch": 1, "epochs": 1, "loss": None, "train_accuracy": 96.0, "frame_error": 3.0},
]


def test_each_number_has_a_curve() -> None:
    """Counters and the strength of the method have none; a number that was not finite leaves a gap."""
    found = {curve.key: curve.values for curve in curves_of(EPOCHS)}

    assert list(found) == ["loss", "train_accuracy", "frame_error"]
    assert found["loss"] == [2.0, 1.0, None]
    assert found["frame_error"] == [None, None, 3.0]


def test_a_line_marks_where_a_phase_begins() -> None:
    """The two phases have one each."""
    text = svg.markup(plot(curves_of(EPOCHS)[0], [str(row["phase"]) for row in EPOCHS]))

    assert text.count("begins") == 2
    assert "recover begins" in text


def test_a_single_epoch_can_be_drawn() -> None:
    """A training that has just begun."""
    assert "polyline" in svg.markup(plot(curves_of(EPOCHS[:1])[0], ["finetune"]))
