"""The origin of a job: the request that submitted it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("jobs", sa.Column("origin", sa.JSON(), nullable=True))


def downgrade() -> None:
    """Take back."""
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.drop_column("origin")
