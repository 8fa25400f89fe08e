"""The hub: who gets what, who is cut off, and how a watch moves from history to what is live."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from probate.core import errors
from probate.store import hub
from probate.store.contract import Batch, Event, Revision, Sink


def event(revision: int, key: str = "objects/k/x", value: bytes | None = b"") -> Event:
    return Event(Revision(revision), key, value, None)


def make(revision: int = 1, *, events: int = 3, size: int = 100) -> hub.Hub:
    return hub.Hub(Revision(revision), hub.Buffer(events, size))


def publish(target: hub.Hub, *events: Event) -> None:
    target.publish(events, revision=events[-1].revision)


def keep(told: list[int]) -> Sink:
    """A sink that takes everything and keeps the revisions."""

    def take(batch: Batch) -> bool:
        told.extend(event.revision for event in batch)
        return True

    return take


async def no_history(prefix: str, after: Revision) -> AsyncGenerator[hub.Chapter, None]:
    """For watches that begin live: whoever reads this gets an event that no test expects."""
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


async def test_one_event_too_many_cuts_a_watcher_off() -> None:
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
    assert not target.watches("objects/k/x")


async def test_as_many_events_as_the_buffer_holds_are_kept() -> None:
    target = make(events=3)
    subscription = target.subscribe("objects/", after=Revision(1))
    publish(target, event(2), event(3), event(4))
    assert len(await subscription.take()) == 3
    publish(target, event(5), event(6), event(7))
    assert len(await subscription.take()) == 3


async def test_too_many_bytes_cut_a_watcher_off() -> None:
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
    """What was read from history already takes no room."""
    target = make(events=1000, size=100)
    subscription = target.subscribe("objects/", after=Revision(3))
    publish(target, event(2, value=b"x" * 90))
    publish(target, event(3, value=b"x" * 90))
    publish(target, event(4, value=b"x" * 90))
    assert [found.revision for found in await subscription.take()] == [4]


async def test_cut_off_wakes_the_one_who_waits_and_spares_the_others() -> None:
    target = make(events=3)
    subscription, other = (target.subscribe(prefix, after=Revision(1)) for prefix in ("objects/", "objects/k/"))
    taking = asyncio.create_task(subscription.take())
    await asyncio.sleep(0)
    publish(target, event(2, "objects/m/x"))
    publish(target, *(event(number, "objects/m/x") for number in range(3, 7)), event(7))
    with pytest.raises(errors.TooSlow):
        await taking
    assert [found.revision for found in await other.take()] == [7]


async def test_revision_grows_while_nothing_is_left_to_take() -> None:
    target = make()
    subscription = target.subscribe("objects/k/", after=Revision(1))
    assert subscription.revision == 1
    publish(target, event(2, "objects/m/x"))
    assert subscription.revision == 2
    publish(target, event(3), event(4, "objects/m/x"))
    assert subscription.revision < 3
    await subscription.take()
    assert subscription.revision == 4


async def test_end_comes_after_what_is_held() -> None:
    target = make()
    subscription = target.subscribe("objects/", after=Revision(1))
    publish(target, event(2))
    target.break_off(errors.StoreUnavailable("closed"))
    publish(target, event(3))
    assert [found.revision for found in await subscription.take()] == [2]
    for _ in range(2):
        with pytest.raises(errors.StoreUnavailable):
            await subscription.take()


async def test_hub_knows_what_is_watched() -> None:
    target = make()
    assert not target.watches("objects/k/x")
    one, other = (target.subscribe("objects/k/", after=Revision(1)) for _ in range(2))
    assert target.watches("objects/k/x")
    assert not target.watches("objects/kk/x")
    target.unsubscribe(one)
    target.unsubscribe(one)
    assert target.watches("objects/k/x")
    target.unsubscribe(other)
    assert not target.watches("objects/k/x")


async def test_watch_closed_midway_frees_its_subscription() -> None:
    target = make()
    async with hub.HubWatch(target, no_history, "objects/", Revision(1)) as watch:
        taking = asyncio.create_task(anext(watch.__aiter__()))
        await asyncio.sleep(0)
        assert target.watches("objects/k/x")
        publish(target, event(2))
        assert [found.revision for found in await taking] == [2]
    assert not target.watches("objects/k/x")


async def test_cancelled_reader_frees_its_subscription() -> None:
    target = make()

    async def read() -> None:
        async with hub.HubWatch(target, no_history, "objects/", Revision(1)) as watch:
            await anext(watch.__aiter__())

    reading = asyncio.create_task(read())
    await asyncio.sleep(0)
    assert target.watches("objects/k/x")
    reading.cancel()
    await asyncio.wait([reading])
    assert not target.watches("objects/k/x")


async def test_watch_reads_history_until_it_has_caught_up_with_what_is_published_meanwhile() -> None:
    """Each chapter is followed by a new change: the watch joins the hub in the step in which nothing is missing."""
    target = make(5, events=100)
    log = [event(number) for number in range(2, 6)]

    async def history(prefix: str, after: Revision) -> AsyncGenerator[hub.Chapter, None]:
        goal = target.revision
        yield [found for found in log if after < found.revision <= goal], goal
        if len(log) < 8:
            log.append(event(log[-1].revision + 1))
            publish(target, log[-1])

    async with hub.HubWatch(target, history, "objects/", Revision(2)) as watch:
        seen: list[Event] = []
        async for events in watch:
            seen += events
            if len(seen) == 7:
                break
            if seen[-1].revision == log[-1].revision:
                log.append(event(log[-1].revision + 1))
                publish(target, log[-1])
        assert seen == log[1:]


async def test_history_ahead_of_what_is_published_is_not_repeated() -> None:
    target = make(3)

    async def history(prefix: str, after: Revision) -> AsyncGenerator[hub.Chapter, None]:
        yield [event(3), event(4)], Revision(4)

    async with hub.HubWatch(target, history, "objects/", Revision(2)) as watch:
        stream = watch.__aiter__()
        assert [found.revision for found in await anext(stream)] == [3, 4]
        taking = asyncio.create_task(anext(stream))
        await asyncio.sleep(0)
        publish(target, event(4))
        publish(target, event(5))
        assert [found.revision for found in await taking] == [5]


async def test_quiet_history_moves_the_watch_on_without_empty_batches() -> None:
    target = make(9)

    async def history(prefix: str, after: Revision) -> AsyncGenerator[hub.Chapter, None]:
        yield [], Revision(5)
        yield [event(7)], Revision(9)

    async with hub.HubWatch(target, history, "objects/", Revision(1)) as watch:
        assert watch.revision == 1
        assert [found.revision for found in await anext(watch.__aiter__())] == [7]
        assert watch.revision == 9


async def test_watchers_of_one_range_share_a_batch_and_what_is_made_of_it() -> None:
    target = make()
    first, second, wide = (target.subscribe(prefix, after=Revision(1)) for prefix in ("objects/k/", "objects/k/", "objects/"))
    publish(target, event(2))
    batch = await first.take()
    batch.made["lines"] = b"made once"
    assert (await second.take()).made == {"lines": b"made once"}
    assert (await wide.take()).made == {}


async def test_watcher_who_is_behind_gets_all_in_one_batch_and_others_keep_theirs() -> None:
    target = make()
    behind, before = (target.subscribe("objects/k/", after=Revision(1)) for _ in range(2))
    publish(target, event(2))
    quick = await before.take()
    publish(target, event(3))
    assert [found.revision for found in await behind.take()] == [2, 3]
    assert [found.revision for found in quick] == [2]


async def test_sink_takes_what_comes_while_somebody_waits_and_nothing_else() -> None:
    target = make(events=10)
    told: list[int] = []
    watch = hub.HubWatch(target, no_history, "objects/", Revision(1))
    watch.hand_to(keep(told))
    taking = asyncio.create_task(anext(watch))
    await asyncio.sleep(0)
    publish(target, event(2), event(3))
    assert (told, taking.done(), watch.revision) == ([2, 3], False, 3)
    watch.nudge()
    publish(target, event(4))  # nobody waits any more: what comes has to be taken
    assert [found.revision for found in await taking] == [4]
    publish(target, event(5))
    assert [found.revision for found in await anext(watch)] == [5]
    assert told == [2, 3]


@pytest.mark.parametrize("sink", [lambda _: False, lambda _: 1 // 0], ids=["refuses", "fails"])
async def test_what_a_sink_does_not_take_comes_by_iteration(sink: Sink) -> None:
    target = make()
    watch = hub.HubWatch(target, no_history, "objects/", Revision(1))
    watch.hand_to(sink)
    taking = asyncio.create_task(anext(watch))
    await asyncio.sleep(0)
    publish(target, event(2))
    assert [found.revision for found in await taking] == [2]
    assert watch.revision == 2


async def test_sink_is_not_given_what_was_read_from_history() -> None:
    target = make()
    told: list[int] = []
    watch = hub.HubWatch(target, no_history, "objects/", Revision(3))
    watch.hand_to(keep(told))
    taking = asyncio.create_task(anext(watch))
    await asyncio.sleep(0)
    publish(target, event(2), event(3), event(4))
    assert told == [4]
    taking.cancel()
    await asyncio.wait([taking])
    publish(target, event(5))
    assert told == [4]
