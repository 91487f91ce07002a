"""The parts of uploads whose bytes are in S3."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "upload_parts",
        sa.Column("upload_id", sa.String(40), nullable=False),
        sa.Column("start", sa.BigInteger(), nullable=False),
        sa.Column("stop", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(80), nullable=False),
        sa.ForeignKeyConstraint(["upload_id"], ["uploads.id"], name="fk_upload_parts_upload_id_uploads"),
        sa.PrimaryKeyConstraint("upload_id", "start", name="pk_upload_parts"),
    )


def downgrade() -> None:
    """Take back."""
    op.drop_table("upload_parts")
