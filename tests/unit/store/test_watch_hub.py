"""The watch hub: delivery, slow watchers, and the transition of a watch from history to live events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate.core import errors
from probate.store import watch_hub
from probate.store.contract import Batch, BatchHandler, DamagedRecord, Event, Revision


def event(revision: int, key: str = "objects/k/x", value: bytes | None = b"") -> Event:
    return Event(Revision(revision), key, value, None)


def make(revision: int = 1, *, events: int = 3, size: int = 100) -> watch_hub.WatchHub:
    return watch_hub.WatchHub(Revision(revision), watch_hub.WatchBuffer(events, size))


def publish(target: watch_hub.WatchHub, *events: Event) -> None:
    target.publish(events, revision=events[-1].revision)


def recorder(revisions: list[int]) -> BatchHandler:
    """Returns a handler that accepts every batch and records the revisions."""

    def handle(batch: Batch) -> bool:
        revisions.extend(event.revision for event in batch)
        return True

    return handle


async def take_now(subscription: watch_hub.Subscription) -> Batch:
    """Returns what a subscription holds, without waiting for more."""
    subscription.wake()
    return await subscription.take()


async def no_history(prefix: str, after: Revision) -> AsyncGenerator[watch_hub.HistoryChunk, None]:
    """The history of watches that start live: reading it yields an event that no test expects."""
    yield [event(999)], Revision(999)


async def test_each_subscription_takes_the_events_of_its_range_once() -> None:
    target = make()
    wide, narrow = (target.subscribe(prefix, after=Revision(1)) for prefix in ("objects/", "objects/k/"))
    beside = target.subscribe("objects/k/x/", after=Revision(1))
    publish(target, event(2), event(3, "objects/kk/x"))
    publish(target, event(4, "objects/k/x/y"))
    assert [found.revision for found in await wide.take()] == [2, 3, 4]
    assert [found.revision for found in await narrow.take()] == [2, 4]
    assert [found.revision for found in await beside.take()] == [4]
    publish(target, event(5))
    assert [found.revision for found in await wide.take()] == [5]


async def test_watcher_that_waits_is_not_cut_off_by_one_publication_larger_than_its_buffer() -> None:
    target = make(events=3)
    subscription = target.subscribe("objects/", after=Revision(1))
    taking = asyncio.ensure_future(subscription.take())
    await asyncio.sleep(0)
    publish(target, *(event(number) for number in range(2, 12)))
    assert [found.revision for found in await taking] == list(range(2, 12))
    publish(target, *(event(number) for number in range(12, 16)))
    with pytest.raises(errors.TooSlow):
        await subscription.take()


async def test_events_at_or_below_the_start_are_left_out() -> None:
    target = make()
    subscription = target.subscribe("objects/", after=Revision(3))
    publish(target, event(2), event(3), event(4))
    assert [found.revision for found in await subscription.take()] == [4]


async def test_take_waits_for_the_next_event() -> None:
    target = make()
    subscription = target.subscribe("objects/", after=Revision(1))
    taking = asyncio.create_task(subscription.take())
    await asyncio.sleep(0)
    publish(target, event(2, "owned/elsewhere"))
    await asyncio.sleep(0)
    assert not taking.done()
    publish(target, event(3))
    assert [found.revision for found in await taking] == [3]


async def test_one_event_too_many_cuts_the_watch_off() -> None:
    target = make(events=3)
    subscription = target.subscribe("objects/", after=Revision(1))
    publish(target, event(2))
    await subscription.take()
    publish(target, event(3), event(4))
    publish(target, event(5))
    publish(target, event(6))
    with pytest.raises(errors.TooSlow) as caught:
        await subscription.take()
    assert caught.value.revision == 2
    assert subscription.revision == 2
    assert not target.has_watchers("objects/k/x")


async def test_as_many_events_as_the_buffer_holds_are_kept() -> None:
    target = make(events=3)
    subscription = target.subscribe("objects/", after=Revision(1))
    publish(target, event(2), event(3), event(4))
    assert len(await subscription.take()) == 3
    publish(target, event(5), event(6), event(7))
    assert len(await subscription.take()) == 3


async def test_too_many_bytes_cut_the_watch_off() -> None:
    target = make(events=1000, size=100)
    subscription = target.subscribe("objects/", after=Revision(1))
    publish(target, event(2, value=b"x" * 60), event(3, value=None), event(4, value=b"x" * 40))
    assert len(await subscription.take()) == 3
    publish(target, event(5, value=b"x" * 60))
    publish(target, event(6, value=b"x" * 41))
    with pytest.raises(errors.TooSlow) as caught:
        await subscription.take()
    assert caught.value.revision == 4


async def test_bytes_of_events_left_out_are_not_counted() -> None:
    """Events already read from history do not count."""
    target = make(events=1000, size=100)
    subscription = target.subscribe("objects/", after=Revision(3))
    publish(target, event(2, value=b"x" * 90))
    publish(target, event(3, value=b"x" * 90))
    publish(target, event(4, value=b"x" * 90))
    assert [found.revision for found in await subscription.take()] == [4]


async def test_cut_off_wakes_its_consumer_and_does_not_affect_other_watches() -> None:
    target = make(events=3)
    subscription, other = (target.subscribe(prefix, after=Revision(1)) for prefix in ("objects/", "objects/k/"))
    taking = asyncio.create_task(subscription.take())
    await asyncio.sleep(0)
    publish(target, event(2, "objects/m/x"))
    publish(target, *(event(number, "objects/m/x") for number in range(3, 7)), event(7))
    with pytest.raises(errors.TooSlow):
        await taking
    assert [found.revision for found in await other.take()] == [7]


async def test_revision_advances_while_the_buffer_is_empty() -> None:
    target = make()
    subscription = target.subscribe("objects/k/", after=Revision(1))
    assert subscription.revision == 1
    publish(target, event(2, "objects/m/x"))
    assert subscription.revision == 2
    publish(target, event(3), event(4, "objects/m/x"))
    assert subscription.revision < 3
    await subscription.take()
    assert subscription.revision == 4


async def test_error_comes_after_the_buffered_events() -> None:
    target = make()
    subscription = target.subscribe("objects/", after=Revision(1))
    publish(target, event(2))
    target.end_all(errors.StoreUnavailable("closed"))
    publish(target, event(3))
    assert [found.revision for found in await subscription.take()] == [2]
    for _ in range(2):
        with pytest.raises(errors.StoreUnavailable):
            await subscription.take()


async def test_hub_knows_which_keys_are_watched() -> None:
    target = make()
    assert not target.has_watchers("objects/k/x")
    one, other = (target.subscribe("objects/k/", after=Revision(1)) for _ in range(2))
    assert target.has_watchers("objects/k/x")
    assert not target.has_watchers("objects/kk/x")
    target.unsubscribe(one)
    target.unsubscribe(one)
    assert target.has_watchers("objects/k/x")
    target.unsubscribe(other)
    assert not target.has_watchers("objects/k/x")


BY_NAMESPACE, BY_NAME = "objects/k/111111-", "objects/k/-/111111-"
BESIDE = [
    *(
        "objects/k/1111110-x/p",
        "objects/k/111111/p",
        "objects/k/111111",
        "objects/k/11111-x/p",
        "objects/k/x/111111-p",
        "objects/k/-/x",
    ),
    *("objects/k/-/1111110-x", "objects/k/-/111111", "objects/k/-/11111-x", "objects/kk/111111-x/p", "objects/kk/-/111111-x"),
    *("objects/111111-x", "objects/k/111112-x/p", "objects/k/-/-/111111-x", "objects/k/111111.x/p"),
]


async def test_subscriptions_to_partial_prefixes_take_the_events_of_their_range_once() -> None:
    target = make(events=100)
    prefixes = (BY_NAMESPACE, BY_NAME, BY_NAMESPACE, "objects/k/", "objects/k/111111-a/")
    subscriptions = [target.subscribe(prefix, after=Revision(1)) for prefix in prefixes]
    inside = [
        "objects/k/111111-a/p",
        "objects/k/-/111111-v",
        "objects/k/111111-a/q",
        "objects/k/111111-b",
        "objects/k/-/111111-v/x",
    ]
    keys = [key for pair in zip(BESIDE, inside * 3, strict=True) for key in pair]
    publish(target, *(event(number, key) for number, key in enumerate(keys, 2)))
    for subscription in subscriptions:
        taken = await take_now(subscription)
        assert [found.key for found in taken] == [key for key in keys if key.startswith(subscription.prefix)]
        assert subscription.revision == target.revision


async def test_events_of_neighbours_wake_no_subscription_to_a_partial_prefix() -> None:
    target = make()
    subscriptions = [target.subscribe(prefix, after=Revision(1)) for prefix in (BY_NAMESPACE, BY_NAME)]
    taking = [asyncio.create_task(subscription.take()) for subscription in subscriptions]
    await asyncio.sleep(0)
    publish(target, *(event(number, key) for number, key in enumerate(BESIDE, 2)))
    await asyncio.sleep(0)
    assert [task.done() for task in taking] == [False, False]
    publish(target, event(50, f"{BY_NAMESPACE}a/p"), event(51, f"{BY_NAME}v"))
    assert [[found.revision for found in await task] for task in taking] == [[50], [51]]


async def test_hub_knows_which_keys_are_watched_by_partial_prefixes() -> None:
    target = make()
    by_namespace, by_name = (target.subscribe(prefix, after=Revision(1)) for prefix in (BY_NAMESPACE, BY_NAME))
    again = target.subscribe(BY_NAMESPACE, after=Revision(1))
    assert target.has_watchers(f"{BY_NAMESPACE}a/p")
    assert target.has_watchers(f"{BY_NAME}v")
    assert not any(map(target.has_watchers, BESIDE))
    target.unsubscribe(by_namespace)
    target.unsubscribe(by_namespace)
    assert target.has_watchers(f"{BY_NAMESPACE}a/p")
    target.unsubscribe(again)
    assert [target.has_watchers(key) for key in (f"{BY_NAMESPACE}a/p", f"{BY_NAME}v")] == [False, True]
    target.unsubscribe(by_name)
    assert not target.has_watchers(f"{BY_NAME}v")
    later = target.subscribe(BY_NAME, after=Revision(1))
    publish(target, event(2, f"{BY_NAME}v"))
    assert [found.revision for found in await take_now(later)] == [2]


async def test_watchers_of_one_partial_prefix_share_a_batch_and_its_cache() -> None:
    target = make()
    first, second, other = (target.subscribe(prefix, after=Revision(1)) for prefix in (BY_NAME, BY_NAME, "objects/k/-/"))
    publish(target, event(2, f"{BY_NAME}v"))
    batch = await take_now(first)
    assert await take_now(second) is batch
    assert await take_now(other) is not batch


async def test_damaged_change_ends_the_watches_of_its_partial_range_only() -> None:
    target = make()
    prefixes = (BY_NAMESPACE, BY_NAME, "objects/k/222222-", "objects/k/")
    inside, by_name, other, wide = (target.subscribe(prefix, after=Revision(1)) for prefix in prefixes)
    damaged = DamagedRecord(f"{BY_NAMESPACE}a/p", Revision(3), "")
    changes: list[Event | DamagedRecord] = [event(2, f"{BY_NAMESPACE}a/q"), damaged]
    changes += [event(4, f"{BY_NAME}v"), event(5, "objects/k/222222-a/p")]
    target.publish_with_damaged(changes, revision=Revision(5))
    for ended in (inside, wide):
        assert [found.revision for found in await take_now(ended)] == [2]
        with pytest.raises(errors.Gone):
            await take_now(ended)
    assert [found.revision for found in await take_now(by_name)] == [4]
    assert [found.revision for found in await take_now(other)] == [5]


async def test_end_and_cut_off_of_partial_watches() -> None:
    target = make(events=1)
    slow, other = (target.subscribe(prefix, after=Revision(1)) for prefix in (BY_NAME, BY_NAMESPACE))
    publish(target, event(2, f"{BY_NAME}v"), event(3, f"{BY_NAME}w"))
    with pytest.raises(errors.TooSlow):
        await take_now(slow)
    assert not target.has_watchers(f"{BY_NAME}v")
    target.end_all(errors.StoreUnavailable("closed"))
    with pytest.raises(errors.StoreUnavailable):
        await take_now(other)
    assert not target.has_watchers(f"{BY_NAMESPACE}a/p")
    publish(target, event(4, f"{BY_NAMESPACE}a/p"))


_hub_prefixes = st.sampled_from(
    [BY_NAMESPACE, BY_NAME, "objects/k/a-b--c-", "objects/", "objects/k/", "objects/k/-/", "objects/k/111111-a/"]
)
_hub_keys = st.sampled_from(
    [*BESIDE, f"{BY_NAMESPACE}a/p", f"{BY_NAMESPACE}b", f"{BY_NAME}v", "objects/k/a-b--c-/x", "objects/k/a-b--cd/x"]
)


@given(st.lists(st.tuples(st.booleans(), _hub_prefixes, st.lists(_hub_keys, max_size=4)), max_size=8))
def test_each_subscription_collects_what_begins_with_its_prefix(steps: list[tuple[bool, str, list[str]]]) -> None:
    """Subscriptions come and go between publications."""
    target, revision = make(events=1000, size=1000), 1
    expected: dict[watch_hub.Subscription, list[str]] = {}
    for is_new, prefix, keys in steps:
        if is_new:
            expected[target.subscribe(prefix, after=target.revision)] = []
        for subscription in [one for one in expected if one.prefix == prefix and not is_new]:
            target.unsubscribe(subscription)
            assert [found.key for found in asyncio.run(take_now(subscription))] == expected.pop(subscription)
        for key in keys:
            assert target.has_watchers(key) == any(key.startswith(one.prefix) for one in expected)
        events = [event(number, key) for number, key in enumerate(keys, revision + 1)]
        revision += len(events)
        target.publish(events, revision=Revision(revision))
        for subscription, collected in expected.items():
            collected += [key for key in keys if key.startswith(subscription.prefix)]
    for subscription, collected in expected.items():
        assert [found.key for found in asyncio.run(take_now(subscription))] == collected


async def test_watch_closed_midway_frees_its_subscription() -> None:
    target = make()
    async with watch_hub.HubWatch(target, no_history, "objects/", after=Revision(1)) as watch:
        taking = asyncio.create_task(anext(watch.__aiter__()))
        await asyncio.sleep(0)
        assert target.has_watchers("objects/k/x")
        publish(target, event(2))
        assert [found.revision for found in await taking] == [2]
    assert not target.has_watchers("objects/k/x")


async def test_cancelled_reader_frees_its_subscription() -> None:
    target = make()

    async def read() -> None:
        async with watch_hub.HubWatch(target, no_history, "objects/", after=Revision(1)) as watch:
            await anext(watch.__aiter__())

    reading = asyncio.create_task(read())
    await asyncio.sleep(0)
    assert target.has_watchers("objects/k/x")
    reading.cancel()
    await asyncio.wait([reading])
    assert not target.has_watchers("objects/k/x")


async def test_watch_reads_history_until_it_has_caught_up_with_concurrent_publications() -> None:
    """Each chunk is followed by a new change: the watch subscribes in the step in which it has caught up."""
    target = make(5, events=100)
    log = [event(number) for number in range(2, 6)]

    async def history(prefix: str, after: Revision) -> AsyncGenerator[watch_hub.HistoryChunk, None]:
        goal = target.revision
        yield [found for found in log if after < found.revision <= goal], goal
        if len(log) < 8:
            log.append(event(log[-1].revision + 1))
            publish(target, log[-1])

    async with watch_hub.HubWatch(target, history, "objects/", after=Revision(2)) as watch:
        seen: list[Event] = []
        async for events in watch:
            seen += events
            if len(seen) == 7:
                break
            if seen[-1].revision == log[-1].revision:
                log.append(event(log[-1].revision + 1))
                publish(target, log[-1])
        assert seen == log[1:]


async def test_history_ahead_of_publication_is_not_repeated() -> None:
    target = make(3)

    async def history(prefix: str, after: Revision) -> AsyncGenerator[watch_hub.HistoryChunk, None]:
        yield [event(3), event(4)], Revision(4)

    async with watch_hub.HubWatch(target, history, "objects/", after=Revision(2)) as watch:
        stream = watch.__aiter__()
        assert [found.revision for found in await anext(stream)] == [3, 4]
        taking = asyncio.create_task(anext(stream))
        await asyncio.sleep(0)
        publish(target, event(4))
        publish(target, event(5))
        assert [found.revision for found in await taking] == [5]


async def test_history_without_events_advances_the_watch_without_empty_batches() -> None:
    target = make(9)

    async def history(prefix: str, after: Revision) -> AsyncGenerator[watch_hub.HistoryChunk, None]:
        yield [], Revision(5)
        yield [event(7)], Revision(9)

    async with watch_hub.HubWatch(target, history, "objects/", after=Revision(1)) as watch:
        assert watch.revision == 1
        assert [found.revision for found in await anext(watch.__aiter__())] == [7]
        assert watch.revision == 9


async def test_watchers_of_one_range_share_a_batch_and_its_cache() -> None:
    target = make()
    first, second, wide = (target.subscribe(prefix, after=Revision(1)) for prefix in ("objects/k/", "objects/k/", "objects/"))
    publish(target, event(2))
    batch = await first.take()
    batch.cache["lines"] = b"made once"
    assert (await second.take()).cache == {"lines": b"made once"}
    assert (await wide.take()).cache == {}


async def test_slow_watcher_gets_one_combined_batch_and_others_keep_theirs() -> None:
    target = make()
    behind, before = (target.subscribe("objects/k/", after=Revision(1)) for _ in range(2))
    publish(target, event(2))
    quick = await before.take()
    publish(target, event(3))
    assert [found.revision for found in await behind.take()] == [2, 3]
    assert [found.revision for found in quick] == [2]


async def test_handler_gets_batches_only_while_the_consumer_waits() -> None:
    target = make(events=10)
    revisions: list[int] = []
    watch = watch_hub.HubWatch(target, no_history, "objects/", after=Revision(1))
    watch.set_handler(recorder(revisions))
    taking = asyncio.create_task(anext(watch))
    await asyncio.sleep(0)
    publish(target, event(2), event(3))
    assert (revisions, taking.done(), watch.revision) == ([2, 3], False, 3)
    watch.wake()
    publish(target, event(4))  # the consumer does not wait any more, so the batch is buffered
    assert [found.revision for found in await taking] == [4]
    publish(target, event(5))
    assert [found.revision for found in await anext(watch)] == [5]
    assert revisions == [2, 3]


@pytest.mark.parametrize("handler", [lambda _: False, lambda _: 1 // 0], ids=["refuses", "fails"])
async def test_batch_that_the_handler_rejects_is_iterated(handler: BatchHandler) -> None:
    target = make()
    watch = watch_hub.HubWatch(target, no_history, "objects/", after=Revision(1))
    watch.set_handler(handler)
    taking = asyncio.create_task(anext(watch))
    await asyncio.sleep(0)
    publish(target, event(2))
    assert [found.revision for found in await taking] == [2]
    assert watch.revision == 2


async def test_handler_does_not_get_events_of_history() -> None:
    target = make()
    revisions: list[int] = []
    watch = watch_hub.HubWatch(target, no_history, "objects/", after=Revision(3))
    watch.set_handler(recorder(revisions))
    taking = asyncio.create_task(anext(watch))
    await asyncio.sleep(0)
    publish(target, event(2), event(3), event(4))
    assert revisions == [4]
    taking.cancel()
    await asyncio.wait([taking])
    publish(target, event(5))
    assert revisions == [4]
