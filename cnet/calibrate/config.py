"""The settings of a calibration, as a job names them; free of PyTorch."""

from __future__ import annotations

from pydantic import Field

from cnet.documents import UserDocument


class Calibrate(UserDocument):
    """Unlabelled inputs by which the weights are quantized."""

    inputs: str | None = Field(
        default=None,
        max_length=200,
        description="Id of a data set whose training inputs are used, or the name of a built-in one; null: those of "
        "the job's data set.",
    )
    samples: int = Field(
        default=256, ge=1, le=65536, description="How many inputs are used at most, drawn by a fixed seed."
    )
