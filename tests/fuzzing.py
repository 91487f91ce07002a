"""Settings of tests that feed a reader with damage."""

from __future__ import annotations

from hypothesis import HealthCheck, settings


def fuzzed(examples: int) -> settings:
    """The same examples each time; they may share a folder, which each of them writes anew."""
    return settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
