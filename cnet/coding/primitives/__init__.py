"""Building blocks of entropy coders: integers, bytes and floats to short byte strings, and back."""
