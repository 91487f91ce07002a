"""Reading a Dockerfile: its stages and their instructions, with variables replaced."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

KNOWN = ("ARG", "CMD", "COPY", "ENV", "EXPOSE", "HEALTHCHECK", "RUN", "USER", "VOLUME", "WORKDIR")


class DockerfileError(ValueError):
    """A Dockerfile that cannot be read."""


@dataclass
class Stage:
    """One stage of a Dockerfile.

    Attributes:
        name: after ``AS``.
        base: the name of an earlier stage, or that of an image.
        steps: its instructions: the keyword and the rest of the line.
    """

    name: str
    base: str
    steps: list[tuple[str, str]] = field(default_factory=list)


def parse(text: str, arguments: Mapping[str, str] | None = None) -> dict[str, Stage]:
    """The stages of a Dockerfile by name.

    Args:
        text: the file.
        arguments: values of ``ARG``, in place of their defaults.

    Raises:
        DockerfileError: an instruction is not one of ``KNOWN``, or a stage has no name.
    """
    given = dict(arguments or {})
    shared: dict[str, str] = {}
    stages: dict[str, Stage] = {}
    scope, current = shared, None
    for line in _lines(text):
        keyword, _, rest = line.partition(" ")
        if keyword == "FROM":
            current = _stage(substitute(rest, shared))
            stages[current.name] = current
            scope = {}
        elif keyword not in KNOWN:
            raise DockerfileError(
                f"Dockerfile: {keyword!r} is not one of {', '.join(KNOWN)}. Teach the replay about it."
            )
        elif keyword == "ARG":
            name, _, default = rest.partition("=")
            scope[name] = given.get(name, default or shared.get(name, ""))
        elif current is None:
            raise DockerfileError(f"Dockerfile: {keyword} stands before the first FROM. Move it into a stage.")
        else:
            known = scope if keyword == "RUN" else {}
            current.steps.append((keyword, substitute(rest.strip(), known)))
    return stages


def needed(stages: Mapping[str, Stage], target: str) -> list[Stage]:
    """The stages that ``target`` is built from, each after those that it needs, and ``target`` itself last."""
    stage = stages[target]
    sources = [stage.base, *(copy_source(rest) for keyword, rest in stage.steps if keyword == "COPY")]
    found: list[Stage] = []
    for source in sources:
        if source in stages:
            found += [each for each in needed(stages, source) if each not in found]
    return [*found, stage]


def copy_source(rest: str) -> str | None:
    """The stage that a ``COPY`` copies from; None: from the folder of the Dockerfile."""
    match = re.match(r"--from=(\S+)", rest)
    return match[1] if match else None


def command(rest: str) -> list[str]:
    """The words of an instruction in one of its two forms, a JSON list or a line for the shell."""
    if rest.startswith("["):
        return [str(word) for word in json.loads(rest)]
    return ["sh", "-c", rest]


def health_command(rest: str) -> list[str]:
    """The command of a ``HEALTHCHECK``."""
    return command(rest[rest.index("CMD ") + 4 :])


def assignments(rest: str) -> dict[str, str]:
    """The variables of an ``ENV``."""
    return dict(word.split("=", 1) for word in shlex.split(rest))


def substitute(text: str, values: Mapping[str, str]) -> str:
    """The text with ``$NAME`` and ``${NAME}`` of ``values`` replaced; others stay, for the shell."""
    return re.sub(r"\$\{?(\w+)\}?", lambda match: values.get(match[1], match[0]), text)


def _lines(text: str) -> list[str]:
    """The instructions, each on one line, without comments."""
    kept = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(kept))
    return [line.strip() for line in joined.splitlines() if line.strip()]


def _stage(rest: str) -> Stage:
    words = rest.split()
    if len(words) != 3 or words[1].upper() != "AS":
        raise DockerfileError(f"Dockerfile: the stage FROM {rest} has no name. Add `AS NAME`.")
    return Stage(words[2], words[0])
