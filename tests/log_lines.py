"""Lines of the log, as programs read them."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from typing import Any

from app.core.telemetry.logs import log_formatter


def json_lines(text: str) -> list[dict[str, Any]]:
    """The lines of a log file that are JSON."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def record_lines(records: Iterable[logging.LogRecord]) -> list[dict[str, Any]]:
    """The lines that records become."""
    formatter = log_formatter(as_json=True)
    return [json.loads(formatter.format(record)) for record in records]
