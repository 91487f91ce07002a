"""The options with which an uploaded file was read, and an index by its digest."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_TABLES = ("checkpoints", "datasets", "programs")


def upgrade() -> None:
    """Apply."""
    for table in _TABLES:
        op.add_column(table, sa.Column("options", sa.JSON(), nullable=True))
        op.create_index(op.f(f"ix_{table}_owner_sha256"), table, ["owner", "sha256"], unique=False)


def downgrade() -> None:
    """Take back."""
    for table in _TABLES:
        op.drop_index(op.f(f"ix_{table}_owner_sha256"), table_name=table)
        op.drop_column(table, "options")
