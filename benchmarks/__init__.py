"""The measurements behind the figures in docs/results: each module is one command."""
