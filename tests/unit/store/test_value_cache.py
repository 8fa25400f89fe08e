"""What was read lately is remembered, within bounds."""

from __future__ import annotations

from probate.store.contract import Record, Revision, delete
from probate.store.sqlite import value_cache
from probate.store.sqlite.value_cache import Lately


def records(first: int, number: int, value: bytes = b"v") -> list[Record]:
    return [Record(f"objects/a/{at}", value, Revision(at + 1)) for at in range(first, first + number)]


def known(memory: Lately, of: list[Record]) -> int:
    return sum(len(memory.values([delete(one.key, revision=one.revision)])) for one in of)


def test_value_is_known_at_its_revision_only() -> None:
    memory = Lately()
    memory.note([None, *records(0, 1)])
    assert memory.values([delete("objects/a/0", revision=Revision(1))]) == [b"v"]
    assert memory.values([delete("objects/a/0", revision=Revision(2))]) == []
    assert memory.values([delete("objects/a/1", revision=Revision(2))]) == []


def test_values_are_told_up_to_one_that_is_not_known() -> None:
    memory = Lately()
    memory.note(records(0, 3))
    asked = [delete(f"objects/a/{at}", revision=Revision(revision)) for at, revision in enumerate((1, 9, 3))]
    assert memory.values(asked) == [b"v"]


def test_large_values_are_not_remembered() -> None:
    memory = Lately()
    small, large = records(0, 1, b"v" * value_cache.MAX_BYTES), records(1, 1, b"v" * (value_cache.MAX_BYTES + 1))
    memory.note(small + large)
    assert (known(memory, small), known(memory, large)) == (1, 0)


def test_however_many_are_read_few_are_remembered() -> None:
    memory = Lately()
    read = [records(10_000 * round_, 10_000) for round_ in range(4)]
    for some in read:
        memory.note(some)
    assert sum(known(memory, some) for some in read) <= 4 * value_cache.NUMBER
