"""Damaged and hostile files for every reader; ``python -m benchmarks.robustness`` counts what becomes of them."""
