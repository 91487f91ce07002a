"""How the rounding errors of weights that share inputs are made to cancel, without knowing the inputs.

A layer's output changes by the sum of error times input over a row. Inputs of most layers are not centred on zero
(ReLU and its kin give no negative ones, and neighbouring pixels are alike), so that a part of this change is the plain
sum of the errors. In the terms of error feedback (Frantar et al., GPTQ, 2022; Hassibi and Stork, optimal brain surgeon,
1993): the matrix E[x x^T] is taken to be the identity plus ``ROW_MEAN`` times a matrix of ones over the row, and plus
``KERNEL_MEAN`` times one over the kernel of each pair of channels. For such a matrix the recursion has a closed form:
each weight is moved by a fraction of the sum of the errors before it, and where inputs are centred on zero after all,
the noise grows by less than a hundredth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cnet.coding import trellis
from cnet.coding.segments import RowBlock, Segment

Singles = npt.NDArray[np.float32]

ROW_MEAN = 0.4
"""Power of the mean of a row's inputs relative to their variance; 0.47 for a normal distribution behind a ReLU."""

KERNEL_MEAN = 0.25
"""Power that the inputs of a kernel's positions have in common, relative to the rest of their variance."""


@dataclass(frozen=True, eq=False)
class FeedbackFactors:
    """What the errors before a weight do to it; each float32, shape (weights of a segment,).

    Attributes:
        kernel: factor of the sum of errors in the weight's kernel.
        row: factor of the sum of errors in its row, from the start of the row or of the lane.
        harm: what a squared error of the weight counts, once later weights have made up for it.
        starts_kernel: 1 where a kernel begins, else 0.
        starts_row: 1 where a row or a lane begins, else 0.
    """

    kernel: Singles
    row: Singles
    harm: Singles
    starts_kernel: Singles
    starts_row: Singles

    @classmethod
    def of(cls, segment: Segment, *, feedback: bool) -> FeedbackFactors:
        """The factors of a segment's weights; without ``feedback`` no error is passed on."""
        parts = [_of_block(block) for block in segment.blocks]
        kernel, row, harm, starts_kernel, starts_row = (
            np.concatenate(each).astype(np.float32) for each in zip(*parts, strict=True)
        )
        if not feedback:
            kernel, row, harm = np.zeros_like(kernel), np.zeros_like(row), np.ones_like(harm)
        return cls(kernel, row, harm, starts_kernel, starts_row)


def _of_block(block: RowBlock) -> tuple[npt.NDArray[Any], ...]:
    """Kernel factor, row factor, harm and the two starts of a block's weights, shape (weights,) each."""
    positions, width = block.sides[2], block.sides[1] * block.sides[2]
    index = np.arange(block.size)
    length = trellis.lane_length(block.positions)
    in_kernel = index % positions
    end = np.minimum((index // width + 1) * width, (index // length + 1) * length)
    left_in_kernel, left_in_row = positions - in_kernel, end - index
    shared = KERNEL_MEAN if positions > 1 else 0.0
    kernel = shared / (1 + shared * left_in_kernel)
    row = ROW_MEAN / (1 + ROW_MEAN * left_in_row)
    harm = (1 + shared * left_in_kernel) / (1 + shared * (left_in_kernel - 1))
    harm = harm * (1 + ROW_MEAN * left_in_row) / (1 + ROW_MEAN * (left_in_row - 1))
    return kernel, row, harm, in_kernel == 0, (index % width == 0) | (index % length == 0)
