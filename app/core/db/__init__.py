"""The database: tables, connections, migrations. SQLite by default, PostgreSQL by URL."""
