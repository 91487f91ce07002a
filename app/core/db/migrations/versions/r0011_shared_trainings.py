"""Trainings that jobs of a study have in common."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.core.db.types import UtcDateTime

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "shared_trainings",
        sa.Column("study_id", sa.String(40), nullable=False),
        sa.Column("key", sa.String(140), nullable=False),
        sa.Column("job_id", sa.String(40), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("blob", sa.String(64), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_shared_trainings_study_id_studies"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_shared_trainings_job_id_jobs"),
        sa.PrimaryKeyConstraint("study_id", "key", name="pk_shared_trainings"),
    )


def downgrade() -> None:
    """Take back."""
    op.drop_table("shared_trainings")
