"""Run the coroutines of the client in plain calls.

Over a ``BlockingConnection`` a coroutine never waits for an event loop: it runs from its beginning to its end in one
step. So a method that blocks is a coroutine that is run in such a step, with the same arguments and the same docstring.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import wraps
from inspect import isasyncgen, signature
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, overload

from cnet.client.job import AsyncJob
from cnet.client.study import AsyncStudy

if TYPE_CHECKING:
    from cnet.client.handles import Job, Study

P = ParamSpec("P")
T = TypeVar("T")


class Blocking:
    """An object whose methods run those of ``core``, which are coroutines."""

    def __init__(self, core: Any) -> None:
        self._core = core

    def _result(self, value: Any) -> Any:
        """What a method returns for what its coroutine returned."""
        return value


@overload
def blocking(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, AsyncJob]],
) -> Callable[Concatenate[Any, P], Job]: ...
@overload
def blocking(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, list[AsyncJob]]],
) -> Callable[Concatenate[Any, P], list[Job]]: ...
@overload
def blocking(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, AsyncStudy]],
) -> Callable[Concatenate[Any, P], Study]: ...
@overload
def blocking(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, list[AsyncStudy]]],
) -> Callable[Concatenate[Any, P], list[Study]]: ...
@overload
def blocking(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Any, P], T]: ...
@overload
def blocking(
    method: Callable[Concatenate[Any, P], AsyncIterator[T]],
) -> Callable[Concatenate[Any, P], Iterator[T]]: ...
def blocking(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that runs ``method``, whose first argument is the ``core`` of its object, to its end."""

    @wraps(method)
    def run(self: Blocking, *args: Any, **kwargs: Any) -> Any:
        started = method(self._core, *args, **kwargs)
        return _iterate(started) if isasyncgen(started) else self._result(_finish(started))

    own = signature(method)
    run.__signature__ = own.replace(return_annotation=_blocking_name(own.return_annotation))  # type: ignore[attr-defined] # inspect reads it
    return run


def _blocking_name(annotation: Any) -> Any:
    """What a method that blocks returns, where its coroutine returns ``annotation``: ``Job`` for ``AsyncJob``."""
    return re.sub(r"\bAsync(?=Job|Study|Iterator)", "", annotation) if isinstance(annotation, str) else annotation


def _finish(coroutine: Any) -> Any:
    """The result of a coroutine that never waits for an event loop."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise AssertionError("a coroutine of a connection that blocks has waited for an event loop")


def _iterate(generator: Any) -> Iterator[Any]:
    try:
        while True:
            try:
                yield _finish(generator.__anext__())
            except StopAsyncIteration:
                return
    finally:
        _finish(generator.aclose())
