"""Values as text for people: sizes, numbers, times."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

_UNITS = ("bytes", "kB", "MB", "GB", "TB")
_SIZE = re.compile(r"(?P<amount>\d+(\.\d+)?)\s*((?P<prefix>[kmgt])(?P<binary>i)?)?(b|bytes?)?", re.IGNORECASE)
MISSING = "\N{EN DASH}"
"""What stands where a value does not exist."""


def size(value: float | None) -> str:
    """A number of bytes with three digits and a decimal unit, such as ``1.25 MB``."""
    if value is None:
        return MISSING
    if value < 1000:
        return f"{value:.0f} {_UNITS[0]}"
    scaled = [(value / 1000**power, unit) for power, unit in enumerate(_UNITS) if power]
    amount, unit = next((row for row in scaled if float(f"{row[0]:.3g}") < 1000), scaled[-1])
    return f"{_three_digits(amount)} {unit}"


def parsed_size(text: str) -> int:
    """A number of bytes from what people write: ``20000``, ``20kB``, ``1.5 MB``, ``64KiB``; case does not matter.

    Raises:
        ValueError: it is no size of at least one byte.
    """
    found = _SIZE.fullmatch(text.strip())
    value = 0.0
    if found is not None:
        base = 1024 if found["binary"] else 1000
        value = float(found["amount"]) * base ** " kmgt".index((found["prefix"] or " ").lower())
    if not 1 <= value < 2**63:
        raise ValueError(f"{text!r} is not a size. Give a number of bytes, or one with a unit, such as 20kB or 1.5MB.")
    return int(value)


def parsed_fraction(text: str) -> float:
    """A fraction from what people write: ``0.9``, and as a percentage ``90%``.

    Raises:
        ValueError: it is no number from 0 to 1, or from 0 % to 100 %.
    """
    number = text.strip().removesuffix("%")
    try:
        value = float(number) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ValueError(f"{text!r} is not a fraction from 0 to 1. Write for example 0.9, or 90%.")
    return value


def round_size(value: float) -> str:
    """A round number of bytes without superfluous zeros, such as ``50 kB``."""
    amount, unit = size(value).split()
    return f"{float(amount.replace(',', '')):g} {unit}"


def number(value: float | None) -> str:
    """A number as people read it: whole numbers with separators, others with four digits."""
    if value is None:
        return MISSING
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e15):
        return f"{int(value):,}"
    return f"{value:.4g}"


def percent(value: float | None) -> str:
    """A percentage with two decimals, such as ``97.50 %``."""
    return MISSING if value is None else f"{value:.2f} %"


def share(value: float | None) -> str:
    """A fraction as a percentage, such as ``0.905`` as ``90.5 %``."""
    return MISSING if value is None else f"{100 * value:.4g} %"


def times(value: float | None) -> str:
    """A ratio, such as 12.5, with the sign for times."""
    return MISSING if value is None else f"{_three_digits(value)}\N{MULTIPLICATION SIGN}"


def duration(seconds: float | None) -> str:
    """A time span with its two largest units, such as ``1 h 12 min``."""
    if seconds is None:
        return MISSING
    if seconds < 10:
        return f"{max(seconds, 0):.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    parts = ((whole // 86400, "d"), (whole // 3600 % 24, "h"), (whole // 60 % 60, "min"), (whole % 60, "s"))
    first = next(index for index, (amount, _) in enumerate(parts) if amount)
    return " ".join(f"{amount} {unit}" for amount, unit in parts[first : first + 2] if amount)


def moment(time: datetime | str | None) -> str:
    """A time in UTC to the second, such as ``2026-01-31 12:00:00``."""
    if time is None:
        return MISSING
    return (time if isinstance(time, str) else time.isoformat(timespec="seconds")).replace("T", " ")[:19]


def plain(value: Any) -> str:
    """A value of JSON on one line, a string without quotes."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def age(time: str | None, now: datetime) -> str:
    """The time from ``time`` (RFC 3339) to ``now``, such as ``3 min 5 s``."""
    return MISSING if time is None else duration(max((now - datetime.fromisoformat(time)).total_seconds(), 0.0))


def pretty_json(value: Any) -> str:
    """JSON with an indent of two, its keys in their order."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def short_id(value: str) -> str:
    """An id that people tell from others by its last six characters."""
    prefix, _, rest = value.partition("_")
    return f"{prefix}_…{rest[-6:]}" if len(rest) > 8 else value


def _three_digits(value: float) -> str:
    """Three significant digits without an exponent."""
    rounded = float(f"{value:.3g}")
    decimals = max(0, 2 - math.floor(math.log10(rounded))) if rounded > 0 else 0
    return f"{rounded:,.{min(decimals, 4)}f}"


def metric_in_text(name: str) -> str:
    """The name of a metric within a text: ``exact lines`` for ``exact_lines``, ``MSE`` for ``mse``."""
    return name.replace("_", " ") if len(name) > 4 else name.upper()


def metric_heading(name: str) -> str:
    """The name of a metric as a heading: ``Exact lines`` for ``exact_lines``, ``MSE`` for ``mse``."""
    words = metric_in_text(name)
    return words if words.isupper() else words.capitalize()


FILTERS: Mapping[str, Callable[..., str]] = {
    "age": age,
    "size": size,
    "number": number,
    "metric_heading": metric_heading,
    "percent": percent,
    "share": share,
    "times": times,
    "duration": duration,
    "moment": moment,
    "plain": plain,
    "pretty_json": pretty_json,
    "short_id": short_id,
}
"""The functions of this module by the names that templates use."""
