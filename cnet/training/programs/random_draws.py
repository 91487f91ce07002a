"""Draws of random numbers in a graph for training, replaced by their means for evaluation.

Stochastic depth (Huang et al., 2016) keeps a branch of each sample with some probability. Networks write the draw in
three ways: ``bernoulli_(p)``; ``floor(p + rand)``; and a comparison of ``rand`` with a number. The draw is 1 with the
probability p and 0 otherwise, and its mean p takes its place. Random numbers that are used in any other way stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cnet.models.programs.document import Argument, Call, Reference

_UNIFORM = frozenset({"aten.rand.default", "aten.rand_like.default"})
_SUMS = frozenset({"aten.add.Tensor", "aten.add.Scalar", "aten.add_.Tensor", "aten.add_.Scalar"})
_FLOORS = {"aten.floor.default": "aten.full_like.default", "aten.floor_.default": "aten.fill_.Scalar"}
_BELOW = frozenset({"aten.lt.Scalar", "aten.le.Scalar"})
_ABOVE = frozenset({"aten.gt.Scalar", "aten.ge.Scalar"})
_TAKE_NUMBERS = frozenset({"aten.mul.Tensor", "aten.div.Tensor", "aten.to.dtype", "aten.type_as.default"})
"""Operators on the result of a comparison that take a number between 0 and 1 as well."""


def without_draws(calls: Sequence[Call]) -> Iterator[Call]:
    """The calls with means in place of draws of 0 or 1."""
    uniform: set[str] = set()
    shifted: dict[str, float] = {}  # p by the value p + rand
    uses = _uses(calls)
    for call in calls:
        first = call.args[0].ref if call.args and isinstance(call.args[0], Reference) else None
        mean: float | None = None
        if call.target in _UNIFORM:
            uniform |= set(filter(None, call.results))
        elif call.target in _SUMS and (p := _added(call, uniform)) is not None:
            shifted |= dict.fromkeys(filter(None, call.results), p)
            if call.target.startswith("aten.add_."):
                shifted |= {first: p} if first is not None else {}
        elif call.target == "aten.bernoulli_.float":
            number = call.args[1] if len(call.args) > 1 else 0.5
            yield _filled(call, "aten.fill_.Scalar", number)
            continue
        elif call.target in _FLOORS and first in shifted:
            yield _filled(call, _FLOORS[call.target], min(max(shifted[first], 0.0), 1.0))
            continue
        elif first in uniform:
            mean = _compared(call, uses)
        yield call if mean is None else _filled(call, "aten.full_like.default", mean)


def _added(call: Call, uniform: set[str]) -> float | None:
    """The number that a sum adds to a uniform draw; None where it is another sum."""
    one, other = call.args[0], call.args[1]
    if isinstance(one, Reference) and one.ref in uniform and type(other) in (int, float) and not call.kwargs:
        return float(other)  # type: ignore[arg-type] # one of the two, as was just checked
    return None


def _compared(call: Call, uses: Mapping[str, list[str]]) -> float | None:
    """The mean of a comparison of a uniform draw with a number, where only its value counts and not its type."""
    number = call.args[1] if len(call.args) > 1 else None
    if type(number) not in (int, float) or call.target not in _BELOW | _ABOVE:
        return None
    if any(target not in _TAKE_NUMBERS for result in call.results if result for target in uses.get(result, [])):
        return None
    share = min(max(float(number), 0.0), 1.0)  # type: ignore[arg-type] # a number, as was just checked
    return share if call.target in _BELOW else 1.0 - share


def _filled(call: Call, target: str, number: Argument) -> Call:
    return call.model_copy(update={"target": target, "args": (call.args[0], number), "kwargs": {}})


def _uses(calls: Sequence[Call]) -> dict[str, list[str]]:
    """For each value the operators that take it."""
    found: dict[str, list[str]] = {}
    for call in calls:
        for value in call.references():
            found.setdefault(value, []).append(call.target)
    return found
