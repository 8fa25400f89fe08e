"""The objects that the benchmarks write: 500 bytes each, with an owner, in a namespace, with pseudo-random names."""

from __future__ import annotations

from typing import NamedTuple

from probate.store.contract import Txn, create

VALUE = b"x" * 500
PER_NAMESPACE = 1_000


class SampleObject(NamedTuple):
    key: str
    value: bytes
    entries: tuple[str, ...]

    def create(self) -> Txn:
        return create(self.key, self.value, add_entries=self.entries)


def sample(number: int) -> SampleObject:
    """Returns the object with this number: always the same, and not adjacent to the previous one within its namespace."""
    namespace = f"ns-{number // PER_NAMESPACE:05}"
    key = f"objects/configmaps/{namespace}/name-{number * 2654435761 % 2**32:010}"
    return SampleObject(key, VALUE, (f"owned/{number // 10:036}/{namespace}/{key}",))


def samples(first: int, count: int) -> list[SampleObject]:
    return [sample(number) for number in range(first, first + count)]
