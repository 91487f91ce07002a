"""The paper's tables and plot, and its rivals', for any net and data set: ``python -m benchmarks.paper --help``."""
