"""The simulator itself: broken on purpose, one thing at a time, the server must be found out within three hundred seeds."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from probate.api.ownership import Action, Delete, Item, Places, Seen, Standing, Unblock
from probate.controllers import manager
from probate.controllers.workloads import replica_controller
from probate.gc import cycle_breaker
from probate.gc.backends.store import transactions
from probate.gc.backends.store.backend import World
from probate.gc.collector import Collector
from probate.server.context import Api
from probate.server.objects import deletion, write
from probate.server.objects.deletion import Plan
from probate.server.ownership import metadata_view, namespace_content
from probate.server.request import Target
from probate.server.storage import index_entries, storage_keys
from probate.store import retention
from probate.store.contract import EmptyRange, Event, Guard, Page, Revision, Txn, Unchanged
from probate.store.hub import Hub, Subscription
from probate.store.sqlite.group_commit import Groups
from simulation import seeds, weather
from simulation.run import Report

pytestmark = pytest.mark.long
STEPS = 500


def found(first: int = 0) -> Report:
    """The first failure within three hundred seeds from this one. (What is rare is looked for where it was found before.)"""
    report = seeds.first_failure(range(first, first + 300), STEPS)
    assert report is not None, "nothing was found"
    assert seeds.play(report.seed, STEPS) == report, "the failure cannot be played again"
    return report


def unguarded(plan: Plan) -> Plan:
    """The plan without the guard that nobody blocks, or refers."""
    if plan.txn is None:
        return plan
    relatives = ("blocking/", "owned/")
    kept = tuple(guard for guard in plan.txn.guards if not (isinstance(guard, EmptyRange) and guard.prefix.startswith(relatives)))
    return msgspec.structs.replace(plan, txn=msgspec.structs.replace(plan.txn, guards=kept))


@pytest.mark.parametrize(("is_orphaning", "wrong"), [(False, "which blocks it"), (True, "still refers to it")])
def test_owner_that_is_released_without_its_guard(monkeypatch: pytest.MonkeyPatch, is_orphaning: bool, wrong: str) -> None:
    release, remove = transactions._release, transactions.Removals._release

    def careless(item: Item, *rest: Any, **more: Any) -> Plan:
        plan = release(item, *rest, **more)
        return unguarded(plan) if item.is_orphaning == is_orphaning else plan

    def careless_too(removals: transactions.Removals, item: Item) -> Txn | None:
        txn = remove(removals, item)
        return msgspec.structs.replace(txn, guards=()) if txn is not None and item.is_orphaning == is_orphaning else txn

    monkeypatch.setattr(transactions, "_release", careless)
    monkeypatch.setattr(transactions.Removals, "_release", careless_too)
    assert wrong in found().failure


def test_orphaning_owner_that_takes_its_uid_off_objects_which_it_cannot_own(monkeypatch: pytest.MonkeyPatch) -> None:
    dependents = World.dependents

    async def by_uid_alone(world: World, owners: Sequence[Item], *, limit: int) -> list[Places]:
        anywhere = [msgspec.structs.replace(one, meta=msgspec.structs.replace(one.meta, namespace="")) for one in owners]
        return await dependents(world, anywhere if owners[0].is_orphaning else owners, limit=limit)

    monkeypatch.setattr(World, "dependents", by_uid_alone)
    assert "which cannot own it" in found().failure


@pytest.mark.parametrize(("is_orphaning", "wrong"), [(False, "is still being deleted"), (True, "somebody works without end")])
def test_release_that_is_guarded_by_uid_alone(monkeypatch: pytest.MonkeyPatch, is_orphaning: bool, wrong: str) -> None:
    released = transactions._released

    def by_uid_alone(item: Item) -> Guard:
        anywhere = msgspec.structs.replace(item, meta=msgspec.structs.replace(item.meta, namespace=""))
        return released(anywhere if item.is_orphaning == is_orphaning else item)

    monkeypatch.setattr(transactions, "_released", by_uid_alone)
    assert wrong in found().failure


@pytest.mark.parametrize("scope", [storage_keys.ALL_NAMESPACES, f"objects/{storage_keys.DEFINITIONS}/"])
def test_creation_without_the_fence(monkeypatch: pytest.MonkeyPatch, scope: str) -> None:
    open_scopes = write.open_scopes

    async def unfenced(api: Api, at: Target) -> list[Guard]:
        guards = await open_scopes(api, at)
        return [guard for guard in guards if not (isinstance(guard, Unchanged) and guard.key.startswith(scope))]

    monkeypatch.setattr(write, "open_scopes", unfenced)
    assert f"was created in a closed scope: {scope}" in found().failure


def test_definition_that_leaves_without_looking_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletion, "guards_of_removal", lambda *_: ())
    assert "although it was not empty" in found().failure


def test_namespace_that_leaves_without_a_look_at_what_it_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unseen(*_: object) -> bool:
        return False

    monkeypatch.setattr(namespace_content, "is_held", unseen)
    assert "although it was not empty" in found().failure


def test_deletion_for_a_waiting_owner_that_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    given = transactions._given
    monkeypatch.setattr(transactions, "_given", lambda action: () if isinstance(action, Delete) else given(action))
    assert "was collected although its owner" in found().failure


def test_work_that_is_forgotten_in_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    async def rash(self: Collector) -> None:
        if self.seen > self._noted:
            await self._world.note_position(self.seen)
            self._noted = self.seen

    async def turn(self: Collector) -> None:
        await rash(self)
        await turned(self)

    turned = Collector._turn
    monkeypatch.setattr(Collector, "_turn", turn)
    monkeypatch.setattr(Collector, "_note_position", rash)
    assert "at rest" in found().failure


def test_two_events_of_a_watch_in_the_wrong_order(monkeypatch: pytest.MonkeyPatch) -> None:
    publish = Hub.publish

    def swapped(hub: Hub, events: Sequence[Event], *, revision: Revision) -> None:
        publish(hub, [*events[1:2], *events[:1], *events[2:]], revision=revision)

    monkeypatch.setattr(Hub, "publish", swapped)
    assert "but what comes next is" in found().failure


def test_event_that_a_watch_never_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    push = Subscription.push
    numbers = itertools.count(1)

    def lossy(subscription: Subscription, *pushed: Any) -> None:
        if next(numbers) % 50:
            push(subscription, *pushed)

    monkeypatch.setattr(Subscription, "push", lossy)
    assert seeds.first_failure(range(300), STEPS) is not None


def test_deletion_on_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    standing = metadata_view.standing

    def rash(item: Item, *rest: Any) -> Seen:
        seen = standing(item, *rest)
        return Seen(Standing.DANGLING) if seen.standing is Standing.UNKNOWN else seen

    monkeypatch.setattr(metadata_view, "standing", rash)
    assert "is of a kind that is not known" in found().failure


def test_circle_that_is_opened_although_it_is_none_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(circle: list[Item]) -> Action:
        return Unblock(circle[0], frozenset(item.meta.uid for item in circle), "")

    monkeypatch.setattr(cycle_breaker, "_open", careless)
    assert "do not wait for each other" in found(first=59).failure


def test_index_entries_that_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = index_entries.changes
    monkeypatch.setattr(index_entries, "changes", lambda *given: (changes(*given)[0], []))
    found()


def test_write_that_is_acknowledged_and_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    commit = Groups._commit
    numbers = itertools.count(1)

    def forgetful(groups: Groups, revision: Revision) -> None:
        if next(numbers) % 100:
            commit(groups, revision)
        else:
            groups._db.execute("ROLLBACK")

    monkeypatch.setattr(Groups, "_commit", forgetful)
    assert seeds.first_failure(range(300), STEPS) is not None


def always_two(seed: object) -> weather.Climate:
    """The climate of a seed, with two leaders that make pods."""
    crew = (*manager.IN_BULK, "replicationcontrollers", "replicasets")
    return drawn(seed)._replace(leaders=2, crew=crew)


drawn = weather.climate


def test_two_leaders_one_of_whom_releases_owners_without_the_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    release = transactions._release
    monkeypatch.setattr(weather, "climate", always_two)
    monkeypatch.setattr(transactions, "_release", lambda *given, **more: unguarded(release(*given, **more)))
    assert seeds.first_failure(range(300), STEPS) is not None


def test_two_leaders_who_keep_what_both_have_made(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nobody_deletes(*_: object) -> None:
        pass

    monkeypatch.setattr(weather, "climate", always_two)
    monkeypatch.setattr(replica_controller.Replicas, "_delete", nobody_deletes)
    assert "pods, and wants" in found().failure


def test_history_that_is_forgotten_when_the_clock_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def unsteady(seed: object) -> weather.Climate:
        return drawn(seed)._replace(history=5.0, p_jump=0.3, p_crash=0.0, pace=0.1)

    monkeypatch.setattr(weather, "climate", unsteady)
    monkeypatch.setattr(retention, "SteadyClock", lambda clock: clock)
    assert "was forgotten, but what is kept begins at" in found().failure


def often_damaged(seed: object) -> weather.Climate:
    """The climate of a seed, in which stored objects are damaged."""
    return drawn(seed)._replace(p_damage=0.3)


def test_damaged_owner_that_is_taken_for_one_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    look_up = World._look_up

    async def without_damage(world: World, wheres: Sequence[str]) -> tuple[list[Item | None], set[str]]:
        return (await look_up(world, wheres))[0], set()

    monkeypatch.setattr(weather, "climate", often_damaged)
    monkeypatch.setattr(World, "_look_up", without_damage)
    failure = found().failure
    assert "was collected although its owner" in failure
    assert "is damaged" in failure


def test_damaged_object_that_does_not_hold_its_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weather, "climate", often_damaged)
    monkeypatch.setattr(Page, "keys", property(lambda page: [record.key for record in page.records]))
    assert "although it was not empty" in found().failure


def test_damaged_object_that_ends_the_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    async def strict(world: World, wheres: Sequence[str]) -> list[Item | None]:
        for where in wheres:
            await world._store.read(where)
        return await items(world, wheres)

    items = World.items
    monkeypatch.setattr(weather, "climate", often_damaged)
    monkeypatch.setattr(World, "items", strict)
    found()
