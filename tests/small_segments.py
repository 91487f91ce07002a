"""Networks of a few hundred weights that ``compact`` divides as it divides large ones."""

from __future__ import annotations

import pytest

from cnet.coding.compact.encoder import Compact, CompactLimits


def small_segments(patch: pytest.MonkeyPatch, segment: int = 500, adaptive: int = 0) -> None:
    """Segments of ``segment`` weights, in the form of networks of more than ``adaptive`` weights."""
    patch.setattr(Compact, "limits", CompactLimits(segment=segment, adaptive=adaptive, deflated=-1))
