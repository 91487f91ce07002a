"""Networks of a few hundred weights that ``compact`` divides as it divides large ones."""

from __future__ import annotations

import pytest

from cnet.coding.compact.encoder import Compact, CompactLimits


def small_segments(patch: pytest.MonkeyPatch) -> None:
    """Segments of 500 weights, in the form of large networks."""
    patch.setattr(Compact, "limits", CompactLimits(segment=500, adaptive=0, deflated=-1))
