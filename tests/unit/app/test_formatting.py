"""Values as text for people."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import formatting


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.00 kB"),
        (12_345, "12.3 kB"),
        (999_949, "1.00 MB"),
        (1_250_000, "1.25 MB"),
        (64 * 2**30, "68.7 GB"),
        (None, formatting.MISSING),
    ],
)
def test_sizes_have_three_digits_and_a_unit(value: float | None, text: str) -> None:
    """Decimal units, and never a thousand of one."""
    assert formatting.size(value) == text


@given(st.integers(min_value=0, max_value=10**15))
def test_a_size_is_near_its_text(value: int) -> None:
    """Within the three digits that are shown."""
    amount, unit = formatting.size(value).split()
    power = ("bytes", "kB", "MB", "GB", "TB").index(unit)
    assert float(amount.replace(",", "")) * 1000**power == pytest.approx(value, rel=0.006, abs=0.5)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0 s"),
        (9.96, "10.0 s"),
        (59.6, "1 min"),
        (61, "1 min 1 s"),
        (3600, "1 h"),
        (86_400 + 7200, "1 d 2 h"),
        (None, formatting.MISSING),
    ],
)
def test_durations_have_two_units(seconds: float | None, text: str) -> None:
    """The two largest, without zeros."""
    assert formatting.duration(seconds) == text


def test_numbers_are_short() -> None:
    """Whole numbers have separators, others four digits; what does not exist is a dash."""
    assert formatting.number(1234567) == "1,234,567"
    assert formatting.number(0.123456) == "0.1235"
    assert formatting.number(2.0) == "2"
    assert formatting.number(None) == formatting.MISSING
    assert formatting.percent(97.5) == "97.50 %"
    assert formatting.share(0.905) == "90.5 %"
    assert formatting.times(12.345) == "12.3\N{MULTIPLICATION SIGN}"
    assert formatting.times(0.0) == "0\N{MULTIPLICATION SIGN}"


def test_times_are_in_utc_to_the_second() -> None:
    """Without a zone, which the headings name."""
    assert formatting.moment(datetime(2026, 1, 31, 12, 0, 0, 5, tzinfo=UTC)) == "2026-01-31 12:00:00"


@pytest.mark.parametrize(
    ("text", "value"),
    [("20000", 20_000), ("20kB", 20_000), ("1.5 MB", 1_500_000), ("64KiB", 65_536), ("2g", 2_000_000_000), ("7 b", 7)],
)
def test_sizes_are_read_as_people_write_them(text: str, value: int) -> None:
    """With decimal and binary units, in any case."""
    assert formatting.parsed_size(text) == value


@pytest.mark.parametrize("text", ["", "0", "20 KBps", "1,000", "-1", "kB", "0.1", "1e3", "9" * 30])
def test_what_is_no_size_is_refused(text: str) -> None:
    """The message has an example."""
    with pytest.raises(ValueError, match="such as 20kB"):
        formatting.parsed_size(text)


@pytest.mark.parametrize(("text", "value"), [("0.9", 0.9), ("90%", 0.9), (" 50 % ", 0.5), ("0", 0.0), ("1", 1.0)])
def test_fractions_are_read_as_numbers_and_percentages(text: str, value: float) -> None:
    """Of which only those with a sign are divided by 100."""
    assert formatting.parsed_fraction(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["90", "-0.1", "101%", "", "%", "nan", "90%5", "half"])
def test_what_is_no_fraction_is_refused(text: str) -> None:
    """The message has both forms: 90 is more likely 0.9 than a mistake of another kind."""
    with pytest.raises(ValueError, match=r"Write for example 0\.9, or 90%\."):
        formatting.parsed_fraction(text)
