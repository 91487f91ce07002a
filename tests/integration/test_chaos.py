"""A small run of ``benchmarks.chaos``: every kind of process dies, and nothing is lost."""

from __future__ import annotations

import pytest

from benchmarks.chaos.run import Options, run

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(1500)]


def test_nothing_is_lost_while_processes_die() -> None:
    """The run itself checks jobs, bundles, uploads, blobs and leftovers; here, that something has died meanwhile."""
    result = run(Options(jobs=12, seed=4, clients=3, workers=2, seconds=600))

    assert result.deaths.total() > 0
    assert len(result.record.ended) == 12
    assert result.record.uploads.cuts > 0
