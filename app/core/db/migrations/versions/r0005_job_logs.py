"""Logs of jobs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "job_logs",
        sa.Column("job_id", sa.String(length=40), nullable=False),
        sa.Column("start", sa.BigInteger(), nullable=False),
        sa.Column("stop", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=True),
        sa.Column("sent", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_logs_job_id_jobs")),
        sa.PrimaryKeyConstraint("job_id", "start", name=op.f("pk_job_logs")),
    )


def downgrade() -> None:
    """Take back."""
    op.drop_table("job_logs")
