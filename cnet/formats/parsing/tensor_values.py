"""Checks of the values of a tensor."""

from __future__ import annotations

import numpy as np

from cnet.errors import CheckpointError
from cnet.formats.parsing.contents import damaged
from cnet.formats.parsing.quoting import quoted
from cnet.weights import Tensor


def check_booleans(tensor: Tensor) -> None:
    """Refuse booleans other than 0 and 1. Raises CheckpointError (``corrupt``)."""
    if tensor.dtype == "bool" and tensor.size and int(tensor.data.reshape(-1).view(np.uint8).max()) > 1:
        raise damaged(f"tensor {quoted(tensor.name)}", "it has booleans that are neither 0 nor 1")


def check_finite(tensor: Tensor) -> None:
    """Refuse a tensor to be compressed that has NaN or infinity. Raises CheckpointError (``not_finite``)."""
    count = tensor.statistics.nan + tensor.statistics.infinite
    if count:
        raise CheckpointError(
            f"tensor {quoted(tensor.name)}: {count} of its {tensor.size} values are NaN or infinite, so it cannot be "
            "compressed. Save the checkpoint from before the training diverged.",
            code="not_finite",
        )
