"""Lines of the log: what they hold, in both formats, and what they never show."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from structlog.contextvars import bound_contextvars

from app.core.settings import Settings
from app.core.telemetry.logs import get_logger, log_formatter
from tests.log_lines import json_lines, record_lines

PROCESS = """
import logging, sys, threading, warnings
from app.core.settings import Settings
from app.core.telemetry.logs import configure_logs, get_logger

configure_logs(Settings())
get_logger("app.part").info("own line", size=3)
get_logger("app.part").debug("own detail")
logging.getLogger("uvicorn.error").info("of %s", "uvicorn")
logging.getLogger("uvicorn.access").info("GET /?key=secret")
logging.getLogger("sqlalchemy.engine").debug("SELECT secret")
warnings.warn("old part", DeprecationWarning)
thread = threading.Thread(target=lambda: 1 / 0, name="side")
thread.start()
thread.join()
raise KeyError("end")
"""


def run_process(**environment: str) -> subprocess.CompletedProcess[str]:
    """A process that sets up its log and writes to it."""
    settings = {**Settings().environment(), **environment}
    command = [sys.executable, "-W", "default", "-c", PROCESS]
    return subprocess.run(command, env=settings, capture_output=True, text=True, check=False)


def test_every_line_of_a_process_is_json() -> None:
    """Those of libraries, warnings, and exceptions that end a thread or the process too."""
    done = run_process()

    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert done.returncode == 1
    assert [(line["level"], line["logger"]) for line in lines] == [
        ("info", "app.part"),
        ("info", "uvicorn.error"),
        ("warning", "py.warnings"),
        ("error", "app.core.telemetry.logs"),
        ("critical", "app.core.telemetry.logs"),
    ]
    assert (lines[0]["event"], lines[0]["size"], lines[1]["event"]) == ("own line", 3, "of uvicorn")
    assert "ZeroDivisionError" in lines[3]["exception"]
    assert "KeyError: 'end'" in lines[4]["exception"]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", line["timestamp"]) for line in lines)


def test_text_is_chosen_by_a_setting() -> None:
    """Without colours where it is no terminal."""
    done = run_process(CNET_LOG_FORMAT="text")

    assert json_lines(done.stderr) == []
    assert re.search(r"^\S+Z \[info +\] own line +\[app\.part\] size=3$", done.stderr, re.MULTILINE), done.stderr
    assert "\x1b" not in done.stderr


def test_the_level_leaves_out_lines_and_never_adds_those_of_libraries() -> None:
    """Statements of SQL may hold what users wrote."""
    detailed = json_lines(run_process(CNET_LOG_LEVEL="debug").stderr)
    short = json_lines(run_process(CNET_LOG_LEVEL="error").stderr)

    assert "own detail" in [line["event"] for line in detailed]
    assert "sqlalchemy.engine" not in [line["logger"] for line in detailed]
    assert {line["level"] for line in short} == {"error", "critical"}


def test_a_line_has_the_context_of_its_request(caplog: pytest.LogCaptureFixture) -> None:
    """Own lines and those of libraries; what the line itself says comes first."""
    with caplog.at_level(logging.INFO), bound_contextvars(request_id="r-1", owner="ann"):
        get_logger("app.part").info("job queued", job_id="job_1", owner="bob")
        logging.getLogger("library").warning("slow")
        lines = record_lines(caplog.records)

    assert [(line["request_id"], line["owner"]) for line in lines] == [("r-1", "bob"), ("r-1", "ann")]
    assert lines[0]["job_id"] == "job_1"


SECRETS = [
    ("postgresql://cnet:hunter2@host/cnet", "postgresql://cnet:***@host/cnet"),
    ("redis://:hunter2@host:1/0", "redis://:***@host:1/0"),
    ("Bearer cnet_hunter2hunter2hunter2hunter2", "Bearer cnet_***"),
    ("http://s3/b?X-Amz-Signature=hunter2&a=b", "http://s3/b?X-Amz-Signature=***&a=b"),
]


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize(("said", "shown"), SECRETS)
def test_no_line_shows_a_secret(said: str, shown: str, as_json: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Neither in a message, nor in a value, nor in an exception."""
    with caplog.at_level(logging.INFO):
        get_logger("app.part").info(said, value=said)
        logging.getLogger("library").error("failed with %s", said, exc_info=ValueError(said))

    formatter = log_formatter(as_json=as_json)
    text = "\n".join(formatter.format(record) for record in caplog.records)
    assert "hunter2" not in text
    assert shown in text


def test_values_that_json_does_not_have_are_written_as_text(caplog: pytest.LogCaptureFixture) -> None:
    """A line is never lost because of its values."""
    value: Any = object()
    with caplog.at_level(logging.INFO):
        get_logger("app.part").info("odd", value=value)

    (line,) = record_lines(caplog.records)
    assert line["value"].startswith("<object object")


def test_reading_the_revision_of_the_database_writes_nothing(tmp_path: Path) -> None:
    """Alembic would write two lines, and the revision is read for every request of ``/readyz``."""
    code = """
from app.core.db import migrate, revision
from app.core.db.engine import Database
from app.core.settings import Settings
from app.core.telemetry.logs import configure_logs

configure_logs(Settings())
database = Database(Settings().database)
migrate.upgrade(database)
migrate.upgrade(database)
revision.check(database)
"""
    settings = Settings(data_dir=tmp_path).environment()
    done = subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, text=True, check=True)

    [line] = json_lines(done.stderr)
    assert (line["event"], line["before"], line["after"] is None) == ("the database was upgraded", None, False)
