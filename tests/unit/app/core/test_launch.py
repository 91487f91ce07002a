"""How processes start."""

from __future__ import annotations

import gc

from app.core.launch import uncollected


def test_the_collector_runs_again_after_the_block() -> None:
    """It stands still inside, and leaves out what was made before the end."""
    before = gc.get_freeze_count()
    with uncollected():
        inside = gc.isenabled()
    frozen = gc.get_freeze_count()
    gc.unfreeze()

    assert not inside
    assert gc.isenabled()
    assert frozen > before
