"""The shape of the code, and that documents say what is so."""
