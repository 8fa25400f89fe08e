"""Uids: random UUIDs, as everybody else reads them."""

from __future__ import annotations

import os
import random
import uuid

from probate.api.uids import Uids


def test_uids_are_random_uuids_and_all_different() -> None:
    new = Uids(os.urandom)
    made = [new() for _ in range(10_000)]
    assert len(set(made)) == len(made)
    for one in made:
        found = uuid.UUID(one)
        assert (str(found), found.version, found.variant) == (one, 4, uuid.RFC_4122)


def test_every_other_bit_is_as_the_source_gave_it() -> None:
    source = random.Random(1)  # noqa: S311
    given = random.Random(1).randbytes(16 * 256)  # noqa: S311
    new = Uids(source.randbytes)
    made = {int(uuid.UUID(new())) for _ in range(256)}
    kept = ~(0xF << 76 | 0x3 << 62)
    assert {one & kept for one in made} == {int.from_bytes(given[at : at + 16]) & kept for at in range(0, len(given), 16)}
