"""Ranges that end within a segment, in an id and a dash, with every method. They equal the filtered range of whole segments."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

import pytest

from probate.store import contract
from probate.store.contract import EmptyRange, Event, FailedGuards, Record, Revision, Store, Txn, UnchangedSince
from support import store_operations as steps

BY_NAMESPACE, BY_NAME = "objects/pods/111111-", "objects/pods/-/111111-"
ENDS_INSIDE = ["a", "b", "a/x", "a/x/deep", "a.b/x", "-/x", "0/x", "z", "\u00e9/x", "\U0001f600/x"]
NEIGHBOURS = [
    *("111111", "111111/x", "111111.a/x", "111111,a/x", "111111\u00e9/x", "1111110-x", "1111110-x/y", "11111-x/y", "11111", "~"),
    *("110111-a/x", "111110-z/x", "111112-a/x", "111111_a/x", "a111111-b/x", "-111111-c/x", "222222-a/x"),
]
ELSEWHERE = [
    *("objects/pod/111111-a/x", "objects/podss/111111-a/x", "objects/pods/a/111111-x", "objects/nodes/111111-a/x"),
    *("objects/nodes/-/111111-a", "objects/111111-x", "objects/111111-x/111111-y"),
]

both_forms = pytest.mark.parametrize("prefix", [BY_NAMESPACE, BY_NAME])
pass_through_it = pytest.mark.parametrize("engine", ["model", "memory", "sqlite"], indirect=True)


def keys_inside(prefix: str) -> list[str]:
    return sorted(prefix + end for end in ENDS_INSIDE)


def keys_outside(prefix: str) -> list[str]:
    """Returns keys just before, just after and far from the range; those of the other form of prefix among them."""
    folder = prefix.removesuffix("111111-")
    other = BY_NAME if prefix == BY_NAMESPACE else BY_NAMESPACE
    return [*(folder + end for end in NEIGHBOURS), *ELSEWHERE, *keys_inside(other)]


async def fill(store: Store, prefix: str) -> list[str]:
    """Creates keys inside and outside the range, and returns those inside in order."""
    keys = [*keys_inside(prefix), *keys_outside(prefix)]
    random.Random(3).shuffle(keys)  # noqa: S311
    outcomes = await store.commit_many([contract.create(key, key.encode()) for key in keys])
    assert not any(isinstance(outcome, FailedGuards) for outcome in outcomes)
    return keys_inside(prefix)


@both_forms
async def test_exactly_the_keys_that_begin_with_the_prefix_are_listed_and_counted(store: Store, prefix: str) -> None:
    inside = await fill(store, prefix)
    now = await store.revision()
    page = await store.scan(prefix, limit=100)
    assert [(record.key, record.value) for record in page.records] == [(key, key.encode()) for key in inside]
    assert not page.has_more
    assert await store.scan(prefix, limit=100, at=now) == page
    assert (await store.count(prefix), await store.count(prefix, at=now)) == (len(inside), len(inside))


@both_forms
async def test_scan_continues_after_any_key(store: Store, prefix: str) -> None:
    inside = await fill(store, prefix)
    now = await store.revision()
    for after in [*inside, *keys_outside(prefix), f"{prefix}a/w", "owned/u/x"]:
        expected = [key for key in inside if key > after]
        for at in (None, now):
            page = await store.scan(prefix, after=after, limit=3, at=at)
            assert ([record.key for record in page.records], page.has_more) == (expected[:3], len(expected) > 3)
            assert await store.count(prefix, after=after, at=at) == len(expected)


@both_forms
async def test_pages_of_any_size_make_up_the_range(store: Store, prefix: str) -> None:
    inside = await fill(store, prefix)
    now = await store.revision()
    for size in range(1, len(inside) + 2):
        assert [record.key for record in await steps.records(store, prefix, size=size)] == inside
        assert [record.key for record in await steps.records(store, prefix, at=now, size=size)] == inside


async def test_range_is_empty_beside_keys_that_only_look_like_it(store: Store) -> None:
    await store.commit_many([contract.create(key, b"") for key in keys_outside(BY_NAME) if not key.startswith(BY_NAMESPACE)])
    for prefix in (BY_NAMESPACE, BY_NAME):
        assert (await store.scan(prefix, limit=1)).records == []
        assert await store.count(prefix) == 0
        assert await store.nonempty_ranges([prefix]) == set()


async def test_several_ranges_are_read_together(store: Store) -> None:
    revision = await steps.commit(store, contract.create(f"{BY_NAME}v", b"", add_entries=["owned/u/x"]))
    await steps.create(store, f"{BY_NAME}w")
    await steps.create(store, "objects/pods/333333-a/x")
    prefixes = [BY_NAMESPACE, "objects/pods/333333-", "objects/pods/333333-a/", BY_NAME, "objects/pods/-/", "owned/u/", "owned/v/"]
    filled = set(prefixes) - {BY_NAMESPACE, "owned/v/"}
    assert await store.nonempty_ranges(prefixes) == filled
    pages = await store.scan_many(prefixes, limit=1)
    assert {prefix for prefix, page in zip(prefixes, pages, strict=True) if page.records} == filled
    assert (pages[3].records, pages[3].has_more) == ([Record(f"{BY_NAME}v", b"", revision)], True)


@both_forms
async def test_guard_holds_exactly_while_the_range_is_empty(store: Store, prefix: str) -> None:
    guard = EmptyRange(prefix)
    for number, key in enumerate(keys_outside(prefix)):
        await steps.commit(store, contract.create(key, b"", guards=[guard] if number % 5 == 0 else []))
    revision = await steps.commit(store, contract.create(f"{prefix}a", b"", guards=[guard]))
    assert await steps.failed_guards(store, contract.create("objects/probes/p", b"", guards=[guard])) == (guard,)
    await steps.delete(store, f"{prefix}a", revision)
    await steps.commit(store, contract.create("objects/probes/p", b"", guards=[guard]))


@both_forms
async def test_guard_sees_what_earlier_transactions_of_the_same_list_change(store: Store, prefix: str) -> None:
    guard, size = EmptyRange(prefix), 40
    creates = [contract.create(f"{prefix}{number:02}/x", b"") for number in range(size)]
    refused = contract.create("objects/probes/p", b"", guards=[guard])
    *made, outcome = await store.commit_many([*creates, refused])
    assert outcome == FailedGuards((guard,))
    deletes = [contract.delete(txn.key, revision=at) for txn, at in zip(creates, made, strict=True) if isinstance(at, int)]
    last = [contract.create("objects/probes/p", b"", guards=[guard]), contract.create(f"{prefix}new", b"")]
    *gone, probe, new = await store.commit_many([*deletes, *last])
    assert len(gone) == size
    assert not any(isinstance(one, FailedGuards) for one in gone)
    assert isinstance(probe, int)
    assert isinstance(new, int)
    assert max(one for one in gone if isinstance(one, int)) < probe < new


async def test_child_prefixes_complete_the_segment(store: Store) -> None:
    await fill(store, BY_NAMESPACE)
    names = ("-/", "0/", "a.b/", "a/", "\u00e9/", "\U0001f600/")
    assert await store.child_prefixes(BY_NAMESPACE) == [BY_NAMESPACE + name for name in names]
    assert await store.child_prefixes(BY_NAME) == [BY_NAME + name for name in names]
    assert await store.child_prefixes("objects/pods/333333-") == []


WATCHED = [
    BY_NAMESPACE,
    BY_NAME,
    "objects/pods/222222-",
    "objects/nodes/111111-",
    "objects/pods/",
    "objects/pods/111111-a/",
    BY_NAME,
]
END = "the-end"


async def follow(store: Store, prefix: str, after: Revision) -> list[Event]:
    """Returns what a watch delivers up to the end marker of its range, and without the markers."""
    events: list[Event] = []
    async with store.watch(prefix, after=after) as watch:
        while not any(event.key == prefix + END for event in events):
            events += await steps.take_events(watch, 1)
    return [event for event in events if not event.key.endswith(END)]


async def write_ends(store: Store) -> Revision:
    return [await steps.create(store, prefix + END) for prefix in dict.fromkeys(WATCHED)][-1]


async def test_watchers_get_the_changes_of_their_range_live_and_from_history(store: Store) -> None:
    start = await store.revision()
    live = [asyncio.create_task(follow(store, prefix, start)) for prefix in WATCHED]
    await asyncio.sleep(0)
    await fill(store, BY_NAMESPACE)
    last = await write_ends(store)
    everything = await steps.collect_events(store, "objects/", after=start, last=last)
    assert len(everything) == len(keys_inside(BY_NAMESPACE)) + len(keys_outside(BY_NAMESPACE)) + len(set(WATCHED))
    for prefix, task in zip(WATCHED, live, strict=True):
        expected = [event for event in everything if event.key.startswith(prefix) and not event.key.endswith(END)]
        assert await task == expected
        assert await follow(store, prefix, start) == expected


async def test_revision_of_a_watch_advances_while_only_neighbours_change(store: Store) -> None:
    async with store.watch(BY_NAMESPACE, after=await store.revision()) as watch:
        taking = asyncio.create_task(steps.take_events(watch, 1))
        await asyncio.sleep(0)
        busy = [await steps.create(store, key) for key in keys_outside(BY_NAMESPACE)][-1]
        await steps.wait_until(store, lambda: watch.revision >= busy)
        assert not taking.done()
        revision = await steps.create(store, f"{BY_NAMESPACE}a/x", b"2")
        assert await taking == [Event(revision, f"{BY_NAMESPACE}a/x", b"2", None)]


async def test_watch_delivers_previous_versions_also_if_no_whole_range_is_watched(store: Store) -> None:
    key = f"{BY_NAME}v"
    created = await steps.create(store, key, b"1")
    async with store.watch(BY_NAME, after=created) as watch:
        taking = asyncio.create_task(steps.take_events(watch, 1))
        await asyncio.sleep(0)
        updated = await steps.update(store, key, b"2", revision=created)
        assert await taking == [Event(updated, key, b"2", Record(key, b"1", created))]
        deleted = await steps.delete(store, key, updated)
        assert await steps.take_events(watch, 1) == [Event(deleted, key, None, Record(key, b"2", updated))]


@pass_through_it
@both_forms
async def test_range_is_unchanged_until_one_of_its_keys_changes(store: Store, prefix: str) -> None:
    await steps.create(store, f"{prefix}a")
    before = store.unchanged_since(prefix)
    assert before is not None
    changed = [await steps.create(store, key) for key in keys_outside(prefix)][-1]
    assert store.unchanged_since(prefix) == UnchangedSince(before.since, changed)
    for end in ("b", "b/x", "c/x/deep"):
        changed = await steps.create(store, prefix + end)
        assert store.unchanged_since(prefix) == UnchangedSince(changed, changed)


RANDOM_RANGES = ["objects/pods/111111-", "objects/pods/-/111111-", "objects/pods/222222-", "objects/pods/-/a-b--c-"]
RANDOM_KEYS = [
    *(
        f"objects/pods/{id_}{end}"
        for id_ in ("111111", "222222", "1111110", "11111", "a-b--c")
        for end in ("-a/x", "-/x", "/x", "")
    ),
    *(
        f"objects/pods/-/{id_}{end}"
        for id_ in ("111111", "222222", "1111110", "11111", "a-b--c")
        for end in ("-a", "-", "-a/x", "")
    ),
]


class RandomHistory:
    """Creates, updates and deletes objects of `RANDOM_KEYS`, in lists of up to 12 transactions."""

    def __init__(self, store: Store, seed: int) -> None:
        self.revisions: list[Revision] = []
        self._store = store
        self._random = random.Random(seed)  # noqa: S311
        self._present: dict[str, Revision] = {}

    async def write(self) -> None:
        txns = [self._change(key) for key in self._random.sample(RANDOM_KEYS, self._random.randint(1, 12))]
        for txn, outcome in zip(txns, await self._store.commit_many(txns), strict=True):
            assert not isinstance(outcome, FailedGuards)
            self.revisions.append(outcome)
            if txn.value is None:
                del self._present[txn.key]
            else:
                self._present[txn.key] = outcome

    def _change(self, key: str) -> Txn:
        revision, value = self._present.get(key), b"%d" % self._random.randrange(1000)
        if revision is None:
            return contract.create(key, value)
        if self._random.random() < 0.5:
            return contract.delete(key, revision=revision)
        return contract.update(key, value, revision=revision)


def within(prefix: str, records: Sequence[Record]) -> list[Record]:
    return [record for record in records if record.key.startswith(prefix)]


@pytest.mark.parametrize("seed", range(3))
async def test_partial_range_equals_the_filtered_whole_range_at_every_revision(store: Store, seed: int) -> None:
    history = RandomHistory(store, seed)
    for _ in range(12):
        await history.write()
        whole = (await store.scan("objects/", limit=100)).records
        filled = {prefix for prefix in RANDOM_RANGES if within(prefix, whole)}
        assert await store.nonempty_ranges(RANDOM_RANGES) == filled
        pages = await store.scan_many(RANDOM_RANGES, limit=100)
        assert [page.records for page in pages] == [within(prefix, whole) for prefix in RANDOM_RANGES]
        assert [await store.count(prefix) for prefix in RANDOM_RANGES] == [len(page.records) for page in pages]
    for at in history.revisions:
        whole = (await store.scan("objects/", limit=100, at=at)).records
        for prefix in RANDOM_RANGES:
            assert await steps.records(store, prefix, at=at, size=2) == within(prefix, whole)
            assert await store.count(prefix, at=at) == len(within(prefix, whole))


@pytest.mark.parametrize("seed", range(3))
async def test_watch_of_a_partial_range_equals_the_filtered_watch_of_the_whole(store: Store, seed: int) -> None:
    """Watches start throughout the writes, from the first revision and from the newest one at the time."""
    start = await store.revision()
    history = RandomHistory(store, seed)
    watching: list[tuple[str, Revision, asyncio.Task[list[Event]]]] = []
    for _ in range(12):
        newest = await store.revision()
        for prefix in RANDOM_RANGES:
            watching += [(prefix, after, asyncio.create_task(follow(store, prefix, after))) for after in (start, newest)]
        await asyncio.sleep(0)
        await history.write()
    last = [await steps.create(store, prefix + END) for prefix in RANDOM_RANGES][-1]
    everything = await steps.collect_events(store, "objects/", after=start, last=last)
    for prefix, after, task in watching:
        expected = [event for event in everything if event.key.startswith(prefix) and event.revision > after]
        assert await task == expected[:-1]
