"""The log of a process: JSON for programs, ``key=value`` for people. Records of libraries are written the same way.

Each line has what ``structlog.contextvars`` holds for the request or the job at hand, such as ``request_id``.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
from collections.abc import Callable, MutableMapping
from types import TracebackType
from typing import Any, TextIO, cast

import structlog
from structlog.typing import Processor

from app.core.settings import Settings
from app.core.telemetry.traces import add_trace_id

Logger = structlog.stdlib.BoundLogger

_STDERR = 2
_OWN_PACKAGES = ("app", "cnet", "worker")
_QUIET = {
    "celery.app.trace": logging.WARNING,  # "succeeded in 3s: None" tells nothing of the job
    "alembic.runtime.migration": logging.WARNING,  # it names the kind of database whenever its revision is read
}
_UVICORN = ("uvicorn", "uvicorn.error", "uvicorn.access")
_SECRETS = (  # a mark that is found quickly, what is replaced, and by what
    ("://", re.compile(r"(://[^/\s:@\"'\\]*:)[^@/\s\"'\\]+@"), r"\1***@"),  # the password of a URL
    ("cnet_", re.compile(r"\bcnet_[A-Za-z0-9_-]{20,}"), "cnet_***"),  # an API key
    (
        "X-Amz-",
        re.compile(r"(X-Amz-(?:Signature|Credential|Security-Token)=)[^&\s\"'\\]+"),
        r"\1***",
    ),  # of a link to S3
)


def get_logger(name: str) -> Logger:
    """The logger of a module, whose methods take values as keywords: ``log.info("job queued", job_id=...)``.

    It hands its records to the standard library, so that it works where ``configure_logs`` was not called.
    """
    logger = structlog.wrap_logger(
        logging.getLogger(name),
        processors=[structlog.stdlib.filter_by_level, structlog.stdlib.render_to_log_kwargs],
        wrapper_class=Logger,
    )
    return cast(Logger, logger)


def configure_logs(settings: Settings) -> None:
    """Set up the log of this process, which is a server or a runner: its format, its level, and where it goes to."""
    stream = _stream(settings.log_descriptor)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(log_formatter(as_json=_is_json(settings, stream), colours=stream.isatty()))
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    logging.basicConfig(handlers=[handler], level=max(level, logging.INFO), force=True)
    for package in _OWN_PACKAGES:  # libraries would write statements of SQL and the bodies of messages
        logging.getLogger(package).setLevel(level)
    for name, least in _QUIET.items():
        logging.getLogger(name).setLevel(max(level, least))
    for name in _UVICORN:
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).propagate = name != "uvicorn.access"  # the lines for requests are our own
    logging.captureWarnings(capture=True)
    sys.excepthook = _log_uncaught
    threading.excepthook = _log_uncaught_in_thread


def log_formatter(*, as_json: bool, colours: bool = False) -> logging.Formatter:
    """The formatter of all records, in JSON or for people."""
    renderer: list[Processor] = [structlog.dev.ConsoleRenderer(colors=colours)]
    if as_json:
        renderer = [
            structlog.processors.format_exc_info,
            structlog.processors.EventRenamer("event"),
            structlog.processors.JSONRenderer(default=str),
        ]
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.ExtraAdder(),
            _without_colours,
            add_trace_id,
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            *renderer[:-1],
            _without_secrets(cast(_Renderer, renderer[-1])),
        ],
    )


def _without_colours(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """The event without the copy of uvicorn's messages that has codes of a terminal in it."""
    event.pop("color_message", None)
    return event


_Renderer = Callable[[Any, str, MutableMapping[str, Any]], str]


def _without_secrets(render: _Renderer) -> Processor:
    """A renderer whose lines show no password, API key or signature, whatever a library has put into its message."""

    def line(logger: Any, name: str, event: MutableMapping[str, Any]) -> str:
        text = render(logger, name, event)
        for mark, pattern, replacement in _SECRETS:
            if mark in text:
                text = pattern.sub(replacement, text)
        return text

    return line


def _is_json(settings: Settings, stream: TextIO) -> bool:
    return settings.log_format == "json" or (settings.log_format == "auto" and not stream.isatty())


def _stream(descriptor: int) -> TextIO:
    return sys.stderr if descriptor == _STDERR else open(descriptor, "a", encoding="utf-8", closefd=False)


def _log_uncaught(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, traceback)
        return
    logging.getLogger(__name__).critical("an exception ends the process", exc_info=(kind, error, traceback))


def _log_uncaught_in_thread(arguments: threading.ExceptHookArgs) -> None:
    name = arguments.thread.name if arguments.thread else ""
    error = arguments.exc_value
    logging.getLogger(__name__).error("an exception ends the thread %s", name, exc_info=error)
