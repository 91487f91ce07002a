"""The form for a new job: its fields follow from the JSON schemas of the specification and of the catalogue."""
