"""HTTP for both clients: calls and their errors, connections, retries, uploads and downloads."""
