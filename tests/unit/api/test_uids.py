"""Uids are random UUIDs in standard form."""

from __future__ import annotations

import os
import random
import uuid

from probate.api.uids import UidGenerator


def test_uids_are_distinct_random_uuids() -> None:
    new_uid = UidGenerator(os.urandom)
    uids = [new_uid() for _ in range(10_000)]
    assert len(set(uids)) == len(uids)
    for uid in uids:
        parsed = uuid.UUID(uid)
        assert (str(parsed), parsed.version, parsed.variant) == (uid, 4, uuid.RFC_4122)


def test_all_bits_but_version_and_variant_come_from_the_source() -> None:
    source = random.Random(1)  # noqa: S311
    expected = random.Random(1).randbytes(16 * 256)  # noqa: S311
    new_uid = UidGenerator(source.randbytes)
    uids = {int(uuid.UUID(new_uid())) for _ in range(256)}
    mask = ~(0xF << 76 | 0x3 << 62)
    assert {uid & mask for uid in uids} == {
        int.from_bytes(expected[start : start + 16]) & mask for start in range(0, len(expected), 16)
    }
