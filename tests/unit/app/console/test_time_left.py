"""The time that is left."""

from __future__ import annotations

from app.console.time_left import TimeLeft


def test_the_time_left_follows_from_the_speed_so_far() -> None:
    """From the first progress on, so that a job that is joined in its middle is estimated rightly."""
    now = [0.0]
    left = TimeLeft(lambda: now[0])

    left.update(0.5)
    assert left.text == ""
    now[0] = 60.0
    left.update(0.51)
    assert left.text == ""
    left.update(0.75)

    assert left.seconds == 60.0
    assert left.text == "1 min left"
