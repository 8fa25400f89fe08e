"""What the benchmarks write: objects of 500 bytes, each with an owner and in a namespace, their names spread like random ones."""

from __future__ import annotations

from typing import NamedTuple

from probate.store.contract import Txn, create

VALUE = b"x" * 500
PER_NAMESPACE = 1_000


class Thing(NamedTuple):
    key: str
    value: bytes
    entries: tuple[str, ...]

    def create(self) -> Txn:
        return create(self.key, self.value, enter=self.entries)


def thing(number: int) -> Thing:
    """The object of this number: always the same, and nowhere near the one before it within its namespace."""
    namespace = f"ns-{number // PER_NAMESPACE:05}"
    key = f"objects/configmaps/{namespace}/name-{number * 2654435761 % 2**32:010}"
    return Thing(key, VALUE, (f"owned/{number // 10:036}/{namespace}/{key}",))


def things(first: int, count: int) -> list[Thing]:
    return [thing(number) for number in range(first, first + count)]
