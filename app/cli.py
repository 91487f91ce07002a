"""The command ``cnet``.

This module needs only Typer. Every command imports what it needs when it runs, so that an installation without torch or
without the server offers all commands that it can run, and tells for the others which package is missing.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import Annotated

import typer

from app.commands import doctor, keys, service
from app.commands.failures import Failure, describe
from app.commands.files import bundles, compress, diff, evaluate, inspect
from app.commands.remote import catalogue, compare, jobs, login, results, stored_files, studies, submit, webhooks
from app.console.exit_codes import CANCELLED, DONE, FAILED, USAGE
from app.console.output import emit_json, note

_INTERRUPTED = 130  # the result that Typer gives after Ctrl-C

app = typer.Typer(
    name="cnet",
    help="Compress trained networks, on this machine or on a server.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group in (
    *(service, compress, evaluate, inspect, bundles, diff),
    *(submit, jobs, results, compare, studies, stored_files, webhooks, catalogue, login, keys, doctor),
):
    group.add_to(app)


def _print_version(given: bool) -> None:
    if given:
        from importlib.metadata import version

        typer.echo(f"cnet {version('cnet')}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    traceback: Annotated[bool, typer.Option("--traceback", help="Print a traceback when a command fails.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Compress trained networks, on this machine or on a server.

    Exit codes: 0 success, 1 failure, 2 wrong usage, 3 cancelled, 4 timed out.
    """
    del traceback, version  # ``run`` looks for the first, the callback of the second handles it


def main() -> None:
    """Run the command line of this process and exit with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command line (without the program's name) and return its exit code."""
    try:
        result = app(arguments, prog_name="cnet", standalone_mode=False)
    except KeyboardInterrupt:
        result = _INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last handler: the user gets a sentence, not a traceback
        return _failed(error, arguments)
    code = result if isinstance(result, int) else DONE
    if code != _INTERRUPTED:
        return code
    note("interrupted")
    return CANCELLED


def _failed(error: Exception, arguments: list[str]) -> int:
    if (
        isinstance(error, OSError) and error.errno == errno.EPIPE
    ):  # the reader of a pipe has ended, as in `cnet ps | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    if "--traceback" in arguments:
        import traceback

        note("".join(traceback.format_exception(error)).rstrip())
    failure = describe(error)
    _report(failure, as_json="--json" in arguments)
    return failure.exit_code


def _report(failure: Failure, *, as_json: bool) -> None:
    if as_json:
        emit_json(failure.document())
    if not failure.detail:  # no command was given, and Typer has shown the help
        return
    note(f"cnet: {failure.detail}")
    for row in failure.more.get("errors") or ():
        if row.get("msg", "") not in failure.detail:
            note(f"  {'.'.join(map(str, row.get('loc', ())))}: {row.get('msg', '')}")
    if failure.exit_code == USAGE and failure.code == "usage":
        note("Run `cnet --help` or `cnet COMMAND --help` to see the commands and options.")


if __name__ == "__main__":
    main()
