"""When a server last said that it still answers a request with an idempotency key."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.core.db.types import UtcDateTime

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("idempotency", sa.Column("alive_at", UtcDateTime(), nullable=True))


def downgrade() -> None:
    """Take back."""
    with op.batch_alter_table("idempotency", schema=None) as batch_op:
        batch_op.drop_column("alive_at")
