"""The tables of the paper and of its rivals, for any network and data set: ``python -m benchmarks.paper --help``."""
