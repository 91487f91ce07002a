"""The choice of the output that a job uses among those of a program."""

from __future__ import annotations

from collections.abc import Sequence

from cnet.errors import Issue, SpecError
from cnet.models.programs.document import ProgramOutput


def choose_output(outputs: Sequence[ProgramOutput], chosen: int | str | None) -> int:
    """The number of the output that a job uses: the one that it names, the only floating-point one, or ``logits``.

    Args:
        outputs: of the program.
        chosen: the number or the name that the job gives; None where it gives none.

    Raises:
        SpecError: there is no such output, there are several, or it has no floating-point numbers.
    """
    listed = ", ".join(f"{position}: {_described(one)}" for position, one in enumerate(outputs)) or "none"
    floats = [position for position, one in enumerate(outputs) if _is_floating(one)]
    if chosen is None:
        logits = [position for position in floats if outputs[position].name == "logits"]
        if not floats:
            raise _refused(
                f"no output of the program has floating-point numbers ({listed})",
                "a program that has logits among its outputs",
            )
        for found in (floats, logits):
            if len(found) == 1:
                return found[0]
        raise _refused(f"the program has several outputs ({listed})", "number or name of the one to train")
    named = [position for position, one in enumerate(outputs) if chosen in (position, one.name)]
    if len(named) != 1:
        count = "no output" if not named else "more than one output"
        raise _refused(f"there is {count} {chosen!r:.140}; the program has {listed}", "the number of one of them")
    if named[0] not in floats:
        raise _refused(f"the output {_described(outputs[named[0]])} has no floating-point numbers", "another one")
    return named[0]


def other_outputs(outputs: Sequence[ProgramOutput], chosen: int | str | None) -> list[str]:
    """Names of the floating-point outputs of a program that a job does not use. Raises as ``choose_output``."""
    used = choose_output(outputs, chosen)
    return [one.name for position, one in enumerate(outputs) if position != used and _is_floating(one)]


def _is_floating(output: ProgramOutput) -> bool:
    return output.dtype.startswith(("float", "bfloat"))


def _refused(what: str, remedy: str) -> SpecError:
    place = ("architecture", "output")
    return SpecError(f"architecture.output: {what}. Give {remedy}.", issues=(Issue(place, what),))


def _described(output: ProgramOutput) -> str:
    sizes = ", ".join(str(size) if isinstance(size, int) else "any" for size in output.shape)
    return f"{output.name} {output.dtype} ({sizes})"
