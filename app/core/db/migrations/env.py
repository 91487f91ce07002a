"""What Alembic runs: our connection, our tables. The connection comes from ``app.core.db.migrate``."""

from __future__ import annotations

from alembic import context

from app.core.db.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    version_table="cnet_alembic_version",  # shares a database with other Alembic users without a clash
)
with context.begin_transaction():
    context.run_migrations()
