"""The scale of many values, computed without a copy of all of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cnet.arrays import chunks
from cnet.errors import CheckpointError


def largest_and_rms(values: npt.NDArray[np.floating]) -> tuple[float, float]:
    """The largest magnitude and the root mean square of values, float32 or float64, shape (n,); 0 where n is 0.

    Raises:
        CheckpointError: ``not_finite``, where a value is NaN or infinite.
    """
    largest = max(float(np.max(values, initial=0.0)), -float(np.min(values, initial=0.0)))
    if not np.isfinite(largest):
        raise CheckpointError(
            "quantize: some weights are NaN or infinite. Save the checkpoint from before the training diverged.",
            code="not_finite",
        )
    if largest == 0:
        return 0.0, 0.0
    relative = (chunk / values.dtype.type(largest) for chunk in chunks(values))
    power = sum(float(np.sum(np.square(chunk, dtype=np.float64))) for chunk in relative)
    return largest, largest * float(np.sqrt(power / len(values)))
