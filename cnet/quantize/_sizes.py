"""How large many values are, without a copy of all of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cnet.arrays import chunks
from cnet.errors import CheckpointError


def magnitudes(values: npt.NDArray[np.floating]) -> tuple[float, float]:
    """The largest size and the root mean square of ``values``, shape (n,); 0 where there are none.

    Raises:
        CheckpointError: ``not_finite``, where a value is NaN or infinite.
    """
    top = max(float(np.max(values, initial=0.0)), -float(np.min(values, initial=0.0)))
    if not np.isfinite(top):
        raise CheckpointError("weights that are NaN or infinite cannot be quantized", code="not_finite")
    if top == 0:
        return 0.0, 0.0
    relative = (part / values.dtype.type(top) for part in chunks(values))
    power = sum(float(np.sum(np.square(part, dtype=np.float64))) for part in relative)
    return top, top * float(np.sqrt(power / len(values)))
