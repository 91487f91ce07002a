"""Histograms of weights."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    with op.batch_alter_table("points", schema=None) as batch_op:
        batch_op.add_column(sa.Column("histogram", sa.JSON(), nullable=True))


def downgrade() -> None:
    """Take back."""
    with op.batch_alter_table("points", schema=None) as batch_op:
        batch_op.drop_column("histogram")
