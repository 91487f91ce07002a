"""The database (SQLite, or PostgreSQL by URL): its tables, connections and migrations."""
