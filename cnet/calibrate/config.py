"""The settings of a calibration, as a job names them; free of PyTorch."""

from __future__ import annotations

from pydantic import Field

from cnet.documents import UserDocument

FEW_SAMPLES = 8
"""With fewer samples a calibration says little."""


class Calibrate(UserDocument):
    """Unlabelled inputs by which the weights are quantized."""

    inputs: str | None = Field(
        default=None,
        max_length=4096,
        description="Id of a data set whose training inputs are used, or the name of a built-in one; null: those of "
        "the job's data set. Without a data set the outputs are compared on its test inputs (a data set that has only "
        "`x` is divided 80 to 20).",
    )
    samples: int = Field(
        default=256, ge=1, le=65536, description="How many inputs are used at most, drawn by a fixed seed."
    )


def few_samples(count: int) -> str | None:
    """The warning about a calibration with so many inputs; None where they are enough."""
    if count >= FEW_SAMPLES:
        return None
    few = "one sample is" if count == 1 else f"{count} samples are"
    return (
        f"calibrate.inputs: {few} few to calibrate on, and what is found on them may not hold for others. Give "
        f"{FEW_SAMPLES} or more, from different sources, beside those that are set apart to measure on."
    )
