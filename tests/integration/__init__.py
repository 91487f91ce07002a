"""Tests with a real Valkey, a real worker and real runners."""
