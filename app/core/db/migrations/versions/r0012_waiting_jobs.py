"""An index of the waiting jobs from which they are counted without reading the jobs."""

from __future__ import annotations

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_BEFORE, _AFTER = ["status", "queue", "turn", "id"], ["status", "queue", "turn", "id", "deleted_at"]


def upgrade() -> None:
    """Apply."""
    _replace(_BEFORE, _AFTER)


def downgrade() -> None:
    """Take back."""
    _replace(_AFTER, _BEFORE)


def _replace(old: list[str], new: list[str]) -> None:
    op.drop_index(op.f(f"ix_jobs_{'_'.join(old)}"), table_name="jobs")
    op.create_index(op.f(f"ix_jobs_{'_'.join(new)}"), "jobs", new)
