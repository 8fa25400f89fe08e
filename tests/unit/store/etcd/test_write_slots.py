from __future__ import annotations

import pytest

from probate.store.etcd.messages import Marker
from probate.store.etcd.write_slots import Fate, judge

KNOWN = 17


@pytest.mark.parametrize(
    ("held", "fate"),
    [
        pytest.param(Marker(20, b"write 5"), Fate.HAPPENED, id="its own mark"),
        pytest.param(Marker(KNOWN, b"write 4"), Fate.NEVER, id="untouched since"),
        pytest.param(Marker(20, b"fence 6"), Fate.NEVER, id="an earlier fence took hold"),
        pytest.param(Marker(20, b"write 9"), Fate.UNKNOWN, id="somebody else's mark"),
        pytest.param(None, Fate.UNKNOWN, id="gone"),
    ],
)
def test_fate_of_a_write_by_what_its_slot_holds(held: Marker | None, fate: Fate) -> None:
    assert judge(held, known=KNOWN, mark=b"write 5").fate is fate
