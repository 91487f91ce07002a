"""Training and evaluation of nets. Torch is imported here and nowhere else in the library."""
