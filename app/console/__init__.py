"""What a person at a terminal sees: lines, tables, bars; and the exit codes that a script sees."""
