"""Nets of a few hundred weights that ``compact`` cuts as it cuts large ones."""

from __future__ import annotations

import pytest

from cnet.encode import _opening, compact
from cnet.encode._layout import segments


def small_segments(patch: pytest.MonkeyPatch) -> None:
    """Segments of 500 weights, in the quick form."""
    for module in (compact, _opening):
        patch.setattr(module, "segments", lambda given: segments(given, 500))
    patch.setattr(compact, "_WALK", 0)
    patch.setattr(compact, "_TRY_PLAIN", -1)
