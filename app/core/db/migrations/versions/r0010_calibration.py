"""The calibration inputs of a job."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.add_column(sa.Column("calibration_id", sa.String(length=40), nullable=True))
        batch_op.create_foreign_key(
            batch_op.f("fk_jobs_calibration_id_datasets"), "datasets", ["calibration_id"], ["id"]
        )


def downgrade() -> None:
    """Take back."""
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.drop_constraint(batch_op.f("fk_jobs_calibration_id_datasets"), type_="foreignkey")
        batch_op.drop_column("calibration_id")
