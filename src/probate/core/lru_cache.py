"""A cache of the values that were used last, for large values. Unlike `functools.lru_cache` it can drop those of one owner."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class LruCache(Generic[T]):
    """Values by owner and name, each made from a source. May be used on several threads."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._values: OrderedDict[tuple[Hashable, Hashable], tuple[object, T]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, owner: Hashable, name: Hashable, source: object, *, make: Callable[[], T]) -> T:
        """Returns the value that was made from this source, or makes it in place of the one that was made from another.

        Two threads that need a value at the same time may both make it.
        """
        with self._lock:
            cached = self._values.get((owner, name))
            if cached is not None and cached[0] is source:
                self._values.move_to_end((owner, name))
                return cached[1]
        value = make()
        with self._lock:
            self._values[owner, name] = source, value
            self._values.move_to_end((owner, name))
            if len(self._values) > self._capacity:
                self._values.popitem(last=False)
        return value

    def drop(self, owner: Hashable) -> None:
        """Removes all values of an owner."""
        with self._lock:
            for key in [key for key in self._values if key[0] is owner]:
                del self._values[key]
