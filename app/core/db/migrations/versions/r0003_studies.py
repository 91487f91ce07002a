"""Studies, and the study of a job."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.core.db.types import UtcDateTime

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "studies",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("owner", sa.String(length=200), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=True),
        sa.Column("labels", sa.JSON(), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("grid", sa.JSON(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=True),
        sa.Column("deleted_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_studies")),
    )
    with op.batch_alter_table("studies", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_studies_owner_id"), ["owner", "id"], unique=False)
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.add_column(sa.Column("study_id", sa.String(length=40), nullable=True))
        batch_op.add_column(sa.Column("study_index", sa.Integer(), nullable=True))
        batch_op.create_foreign_key(batch_op.f("fk_jobs_study_id_studies"), "studies", ["study_id"], ["id"])
        batch_op.create_index(batch_op.f("ix_jobs_study_id_study_index"), ["study_id", "study_index"], unique=False)


def downgrade() -> None:
    """Take back."""
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_jobs_study_id_study_index"))
        batch_op.drop_constraint(batch_op.f("fk_jobs_study_id_studies"), type_="foreignkey")
        batch_op.drop_column("study_index")
        batch_op.drop_column("study_id")
    op.drop_table("studies")
