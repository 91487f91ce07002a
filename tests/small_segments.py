"""Nets of a few hundred weights that ``compact`` cuts as it cuts large ones."""

from __future__ import annotations

import pytest

from cnet.coding.compact import encoder, opening
from cnet.coding.compact.layout import segments


def small_segments(patch: pytest.MonkeyPatch) -> None:
    """Segments of 500 weights, in the quick form."""
    for module in (encoder, opening):
        patch.setattr(module, "segments", lambda given: segments(given, 500))
    patch.setattr(encoder, "_WALK", 0)
    patch.setattr(encoder, "_TRY_PLAIN", -1)
