"""Output of commands: lines, tables and progress bars for people, JSON and exit codes for scripts."""
