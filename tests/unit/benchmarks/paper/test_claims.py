"""Claims follow from the rows alone."""

from __future__ import annotations

import pytest

from benchmarks.paper.claims import all_claims
from benchmarks.paper.rows import Row
from benchmarks.paper.study import HIGH, STRONGEST
from benchmarks.paper.tables import LABELS, PLAIN, all_tables, front, smallest
from tests.unit.benchmarks.paper.made import row


def _good() -> list[Row]:
    """Rows of which every claim holds."""
    rows = []
    for number, label in enumerate(LABELS):
        rows += [row("sparsity", label, 0.0, 91.0), row("sparsity", label, 0.9, 50.0 + 5 * number)]
        rows.append(row("quantized", label, 0.7, 90.0, entropy=7.0 - number, bytes=9000.0))
    sizes = {"separate_npz": 90.0, "zero_npz": 100.0, "separate_compact": 80.0, "zero_compact": 80.0}
    rows.append(row("quantized", STRONGEST, 0.5, 90.9, zero_cluster=sizes, bytes=10_000.0))
    rows.append(row("quantized", STRONGEST, 0.9, 88.0))
    for sparsity in HIGH:
        rows.append(row("ramp", "CNET ramp", sparsity, 85.0 if sparsity < 0.98 else 70.0))
        if sparsity > 0.9:
            rows.append(row("high", STRONGEST, sparsity, 85.0 if sparsity < 0.97 else 60.0))
    rows += [row("rivals", "L1", 0.95, 90.5, bytes=5000.0), row("rivals", "Smallify", 0.95, 80.0, bytes=10.0)]
    rows.append(row("ours", "Ours", 0.98, 90.6, bytes=1000.0, ratio=200.0))
    return rows


def _verdicts(rows: list[Row]) -> list[bool | None]:
    return [claim.holds for claim in all_claims(rows)]


def test_every_claim_holds_for_rows_that_meet_it() -> None:
    """Each of the eight claims is checked."""
    assert _verdicts(_good()) == [True] * 8


def test_without_rows_no_claim_is_measured() -> None:
    """The tables then have empty cells for their setups."""
    assert _verdicts([]) == [None] * 8
    for table in all_tables([], paper=False):
        assert all(len(line) == len(table.lines[0]) for line in table.lines)


@pytest.mark.parametrize(
    ("setup", "worse"),
    [
        (0, row("sparsity", STRONGEST, 0.9, 40.0)),
        (1, row("quantized", STRONGEST, 0.7, 90.0, entropy=9.0, bytes=9000.0)),
        (3, row("high", STRONGEST, 0.98, 85.0)),
        (4, row("quantized", "CNET ramp", 0.9, 90.9, bytes=1100.0)),
        (5, row("rivals", "L1", 0.95, 90.5, bytes=900.0)),
    ],
)
def test_a_contradicting_row_refutes_its_claim_alone(setup: int, worse: Row) -> None:
    """The first row of a kind counts, so the contradiction is put first; all other claims still hold."""
    verdicts = _verdicts([worse, *_good()])
    assert verdicts[setup] is False
    assert [held for index, held in enumerate(verdicts) if index != setup] == [True] * 7


def test_half_a_point_of_accuracy_is_an_exact_limit() -> None:
    """A loss of exactly half a point counts as met; a larger one does not, however small the excess."""
    rows = [row("ours", "A", 0.9, 90.5, bytes=7.0), row("ours", "A", 0.9, 90.49, bytes=1.0)]
    assert smallest(rows) == {"A": rows[0]}
    assert smallest(rows[1:]) == {"A": None}
    assert smallest([row("quantized", "CNET 0.01", 0.5, 91.0)]).keys() == {PLAIN}


def test_tables_show_the_papers_figures_on_request() -> None:
    """Every table for which the paper has figures gets a column of the same length."""
    for table in all_tables(_good(), paper=True):
        assert all(len(line) == len(table.lines[0]) for line in table.lines)
    text = str(all_tables(_good(), paper=True))
    assert "87.89 / 35.14" in text
    assert "87.89 / 35.14" not in str(all_tables(_good(), paper=False))


def test_a_pareto_front_has_only_undominated_points() -> None:
    """It is sorted by size, and accuracy rises along it."""
    rows = [row("ours", "A", 0.9, a, bytes=b) for a, b in ((90, 5), (80, 3), (85, 6), (80, 4), (91, 9))]
    assert front(rows) == [(3, -11), (5, -1), (9, 0)]
