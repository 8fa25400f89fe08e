from __future__ import annotations

import pytest

from probate.store.etcd.messages import SlotContent
from probate.store.etcd.write_slots import WriteFate, decide_fate

KNOWN = 17


@pytest.mark.parametrize(
    ("content", "fate"),
    [
        pytest.param(SlotContent(20, b"write 5"), WriteFate.COMMITTED, id="its own mark"),
        pytest.param(SlotContent(KNOWN, b"write 4"), WriteFate.NOT_COMMITTED, id="unchanged since"),
        pytest.param(SlotContent(20, b"fence 6"), WriteFate.NOT_COMMITTED, id="an earlier fence was written"),
        pytest.param(SlotContent(20, b"write 9"), WriteFate.UNKNOWN, id="another process's mark"),
        pytest.param(None, WriteFate.UNKNOWN, id="gone"),
    ],
)
def test_fate_of_a_write_follows_from_the_content_of_its_slot(content: SlotContent | None, fate: WriteFate) -> None:
    assert decide_fate(content, expected_revision=KNOWN, mark=b"write 5").fate is fate
