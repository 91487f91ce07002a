"""Building blocks of the encoders: integers, bytes and floating-point numbers to short byte strings, and back."""
