"""Values that cannot be weights are refused."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.errors import CheckpointError
from cnet.formats.parsing.tensor_values import check_finite
from cnet.weights import Tensor


def test_the_message_counts_values_that_are_not_finite() -> None:
    """It names the tensor and says what to do."""
    tensor = Tensor("fc.weight", "float32", np.array([np.nan, 1.0, np.inf], np.float32))

    with pytest.raises(CheckpointError, match=r"'fc\.weight': 2 of its 3 values .* Save the checkpoint") as caught:
        check_finite(tensor)

    assert caught.value.code == "not_finite"
