"""Programs, and the program of a job."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.core.db.types import UtcDateTime

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "programs",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("owner", sa.String(length=200), nullable=False),
        sa.Column("filename", sa.String(length=255), nullable=True),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("manifest", sa.JSON(), nullable=False),
        sa.Column("blob", sa.String(length=64), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=True),
        sa.Column("deleted_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_programs")),
    )
    with op.batch_alter_table("programs", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_programs_owner_id"), ["owner", "id"], unique=False)
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.add_column(sa.Column("program_id", sa.String(length=40), nullable=True))
        batch_op.create_foreign_key(batch_op.f("fk_jobs_program_id_programs"), "programs", ["program_id"], ["id"])


def downgrade() -> None:
    """Take back."""
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.drop_constraint(batch_op.f("fk_jobs_program_id_programs"), type_="foreignkey")
        batch_op.drop_column("program_id")
    op.drop_table("programs")
