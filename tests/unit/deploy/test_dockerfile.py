"""Reading the Dockerfile, for its replay without Docker."""

from __future__ import annotations

import pytest

from deploy.dockerfile import DockerfileError, assignments, command, copy_source, health_command, needed, parse
from deploy.replay_dockerfile import allowed
from tests.repository import ROOT

STAGES = parse((ROOT / "Dockerfile").read_text())


def test_a_target_needs_the_stages_that_it_is_built_from() -> None:
    """Those of ``FROM`` and of ``COPY --from``, each once and in order."""
    assert [stage.name for stage in needed(STAGES, "api")] == ["base", "build", "build-api", "api"]
    assert [stage.name for stage in needed(STAGES, "worker")] == [
        "base",
        "build",
        "build-api",
        "build-worker",
        "worker",
    ]


def test_arguments_replace_their_defaults() -> None:
    """In a stage they hold once it names them."""
    text = 'ARG A=1\nARG B=2\nFROM image:${A} AS one\nARG B\nRUN echo "$B" \\\n  && echo $HOME\n'

    stage = parse(text)["one"]

    assert stage.base == "image:1"
    assert stage.steps == [("RUN", 'echo "2"  && echo $HOME')]
    assert parse(text, {"B": "5"})["one"].steps == [("RUN", 'echo "5"  && echo $HOME')]


@pytest.mark.parametrize("text", ["FROM image", "FROM image AS a\nADD x y", "RUN true"])
def test_what_is_not_known_is_refused(text: str) -> None:
    """Rather than left out."""
    with pytest.raises(DockerfileError, match="Dockerfile"):
        parse(text)


def test_commands_have_two_forms() -> None:
    """A list, or a line for the shell."""
    assert command('["a", "b c"]') == ["a", "b c"]
    assert command("a b") == ["sh", "-c", "a b"]
    assert health_command('--interval=1s CMD ["a"]') == ["a"]
    assert assignments("A=1 B='2 3'") == {"A": "1", "B": "2 3"}


def test_docker_sees_what_is_copied() -> None:
    """``.dockerignore`` leaves out everything else."""
    for stage in STAGES.values():
        for keyword, rest in stage.steps:
            if keyword == "COPY" and copy_source(rest) is None:
                assert all(allowed(path) and (ROOT / path).exists() for path in rest.split()[:-1]), rest
    assert not allowed("tests")
