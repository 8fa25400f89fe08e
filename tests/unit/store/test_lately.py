"""What was read lately is remembered, within bounds."""

from __future__ import annotations

from probate.store.contract import Record, Revision
from probate.store.sqlite import lately
from probate.store.sqlite.lately import Lately


def records(first: int, number: int, value: bytes = b"v") -> list[Record]:
    return [Record(f"objects/a/{at}", value, Revision(at + 1)) for at in range(first, first + number)]


def known(memory: Lately, of: list[Record]) -> int:
    return sum(memory.value(one.key, one.revision) is not None for one in of)


def test_value_is_known_at_its_revision_only() -> None:
    memory = Lately()
    memory.note([None, *records(0, 1)])
    assert memory.value("objects/a/0", Revision(1)) == b"v"
    assert memory.value("objects/a/0", Revision(2)) is None
    assert memory.value("objects/a/1", Revision(2)) is None


def test_large_values_are_not_remembered() -> None:
    memory = Lately()
    small, large = records(0, 1, b"v" * lately.MAX_BYTES), records(1, 1, b"v" * (lately.MAX_BYTES + 1))
    memory.note(small + large)
    assert (known(memory, small), known(memory, large)) == (1, 0)


def test_however_many_are_read_few_are_remembered() -> None:
    memory = Lately()
    read = [records(10_000 * round_, 10_000) for round_ in range(4)]
    for some in read:
        memory.note(some)
    assert sum(known(memory, some) for some in read) <= 4 * lately.NUMBER
