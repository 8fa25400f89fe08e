from __future__ import annotations

import asyncio

import pytest

from probate.core import errors
from probate.store.contract import Absent, CommitResult, EmptyRange, Revision, Txn, Unchanged, create, delete, update
from probate.store.etcd.batches import BatchRun, dependencies

X, Y = "objects/pods/a/x", "objects/pods/a/y"


@pytest.mark.parametrize(
    ("txns", "waits"),
    [
        pytest.param([create(X, b""), create(Y, b"")], [set(), set()], id="other keys"),
        pytest.param([create(X, b""), update(X, b"", revision=Revision(5))], [set(), {0}], id="the same object"),
        pytest.param(
            [create(X, b"", add_entries=["owned/u/x"]), create(Y, b"", add_entries=["owned/u/x"])],
            [set(), {0}],
            id="the same entry",
        ),
        pytest.param([create(X, b""), create(Y, b"", guards=[Absent(X)])], [set(), {0}], id="guards what is changed"),
        pytest.param([create(Y, b"", guards=[Absent(X)]), create(X, b"")], [set(), {0}], id="changes what is guarded"),
        pytest.param(
            [create(X, b"", guards=[Absent("closed/u")]), create(Y, b"", guards=[Absent("closed/u")])],
            [set(), set()],
            id="same guard",
        ),
        pytest.param(
            [
                create(X, b"", add_entries=["owned/u/x"]),
                create(Y, b"", add_entries=["owned/u/y"]),
                delete("objects/apps/a/o", revision=Revision(2), guards=[EmptyRange("owned/u/")]),
                create("objects/pods/a/z", b"", add_entries=["owned/u/z"]),
                create("objects/pods/a/v", b"", add_entries=["owned/uu/v"]),
            ],
            [set(), set(), {0, 1}, {2}, set()],
            id="an empty range",
        ),
        pytest.param(
            [
                create("objects/pods/111111-a/x", b""),
                create("objects/pods/1111110-a/x", b""),
                create(Y, b"", guards=[EmptyRange("objects/pods/111111-"), EmptyRange("objects/nodes/-/111111-")]),
                create("objects/pods/111111-b/x", b""),
                create("objects/nodes/-/111111-n", b""),
                create("objects/nodes/-/111111", b""),
            ],
            [set(), set(), {0}, {2}, {2}, set()],
            id="an empty range that ends within a segment",
        ),
        pytest.param(
            [
                create(X, b""),
                create(Y, b"", guards=[Unchanged(X, Revision(3))]),
                create("objects/pods/a/z", b"", guards=[Unchanged(X, Revision(3))]),
                delete(X, revision=Revision(3)),
            ],
            [set(), {0}, {0}, {0, 1, 2}],
            id="readers between writers",
        ),
    ],
)
def test_transaction_waits_for_earlier_ones_it_depends_on(txns: list[Txn], waits: list[set[int]]) -> None:
    assert dependencies(txns) == waits


async def test_none_is_started_after_a_failure_and_those_in_progress_are_awaited() -> None:
    begun: list[str] = []
    both_begun = asyncio.Event()
    finish = asyncio.Event()

    async def commit(txn: Txn) -> CommitResult:
        begun.append(txn.key)
        if txn.key == X:
            both_begun.set()
            raise errors.StoreUnavailable("away")
        await finish.wait()
        raise errors.OutcomeUnknown("away")

    txns = [create(Y, b""), create(X, b""), create("objects/pods/a/z", b"")]
    run = asyncio.ensure_future(BatchRun(txns, commit, concurrency=2).results())
    await both_begun.wait()
    assert not run.done()
    finish.set()
    with pytest.raises(errors.OutcomeUnknown):  # the worse of the two
        await run
    assert begun == [Y, X]
