"""A property that is computed once and kept, without a lock.

The one of `functools` holds a lock for a whole class up to Python 3.11: a process that is forked while another thread
computes such a property waits for that lock for good, because the thread is not there to release it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Kept = TypeVar("Kept")


class cached_property(Generic[Kept]):  # noqa: N801 - used as `property` is
    """A method that is read as an attribute; its first result is kept in the object, which needs a `__dict__`.

    Two threads that read it at once may both compute it; both get a right result, and one of them is kept.
    """

    def __init__(self, compute: Callable[[Any], Kept]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[Kept]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Kept: ...
    def __get__(self, instance: object | None, owner: type) -> cached_property[Kept] | Kept:
        if instance is None:
            return self
        found = instance.__dict__[self._name] = self._compute(instance)
        return found
