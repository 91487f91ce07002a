"""The choice of the output that a job uses among those of a program."""

from __future__ import annotations

from collections.abc import Sequence

from cnet.errors import Issue, SpecError
from cnet.models.programs.document import ProgramOutput


def choose_output(outputs: Sequence[ProgramOutput], number: int | None) -> int:
    """The number of the output that a job uses: the one that it names, the only floating-point one, or ``logits``.

    Args:
        outputs: of the program.
        number: that the job names; None where it names none.

    Raises:
        SpecError: there is no such output, or there are several.
    """
    listed = ", ".join(f"{position}: {_described(one)}" for position, one in enumerate(outputs))
    if number is not None:
        if number < len(outputs):
            return number
        issue = Issue(("architecture", "output"), f"there is no output {number}; the program has {listed}")
        raise SpecError(f"architecture.output: {issue.msg}. Give the number of one of them.", issues=(issue,))
    floats = [position for position, one in enumerate(outputs) if one.dtype.startswith(("float", "bfloat"))]
    logits = [position for position in floats if outputs[position].name == "logits"]
    for found in (floats, logits):
        if len(found) == 1:
            return found[0]
    issue = Issue(("architecture", "output"), f"the program has several outputs ({listed or 'none'})")
    raise SpecError(f"architecture.output: {issue.msg}. Give the number of the one to train.", issues=(issue,))


def _described(output: ProgramOutput) -> str:
    sizes = ", ".join(str(size) if isinstance(size, int) else "any" for size in output.shape)
    return f"{output.name} {output.dtype} ({sizes})"
