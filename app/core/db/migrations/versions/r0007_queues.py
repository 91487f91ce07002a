"""Queues and turns of jobs, what a worker can run; messages are deleted once they are sent."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from app.core.db.types import UtcDateTime

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.add_column(sa.Column("queue", sa.String(length=40), server_default=sa.text("'cpu'"), nullable=False))
        batch_op.add_column(sa.Column("memory", sa.BigInteger(), server_default=sa.text("0"), nullable=False))
        batch_op.add_column(sa.Column("turn", sa.BigInteger(), server_default=sa.text("0"), nullable=False))
        batch_op.drop_index(batch_op.f("ix_jobs_status_queued_at"))
        batch_op.create_index(batch_op.f("ix_jobs_status_queue_turn_id"), ["status", "queue", "turn", "id"])
    op.execute(sa.text("DELETE FROM outbox WHERE sent_at IS NOT NULL"))
    with op.batch_alter_table("outbox", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_outbox_sent_at"))
        batch_op.drop_column("sent_at")
    op.execute(sa.text("DELETE FROM workers"))  # each writes its row again within seconds
    with op.batch_alter_table("workers", schema=None) as batch_op:
        batch_op.drop_column("devices")
        batch_op.add_column(sa.Column("host", sa.String(length=255), server_default=sa.text("''"), nullable=False))
        batch_op.add_column(sa.Column("queues", sa.JSON(), server_default=sa.text("'[]'"), nullable=False))
        batch_op.add_column(sa.Column("gpus", sa.JSON(), server_default=sa.text("'[]'"), nullable=False))
        batch_op.add_column(sa.Column("memory_bytes", sa.BigInteger(), server_default=sa.text("0"), nullable=False))


def downgrade() -> None:
    """Take back."""
    op.execute(sa.text("DELETE FROM workers"))
    with op.batch_alter_table("workers", schema=None) as batch_op:
        for name in ("memory_bytes", "gpus", "queues", "host"):
            batch_op.drop_column(name)
        batch_op.add_column(sa.Column("devices", sa.JSON(), server_default=sa.text("'[]'"), nullable=False))
    with op.batch_alter_table("outbox", schema=None) as batch_op:
        batch_op.add_column(sa.Column("sent_at", UtcDateTime(), nullable=True))
        batch_op.create_index(batch_op.f("ix_outbox_sent_at"), ["sent_at"])
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_jobs_status_queue_turn_id"))
        batch_op.create_index(batch_op.f("ix_jobs_status_queued_at"), ["status", "queued_at"])
        for name in ("turn", "memory", "queue"):
            batch_op.drop_column(name)
