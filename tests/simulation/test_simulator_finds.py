"""Tests of the simulator: it must find each deliberate defect of the server within three hundred seeds."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from probate.api.object_keys import Key
from probate.api.ownership import Action, ClearBlockOwnerDeletion, Delete, Item, KeyPage, OwnerState, ResolvedOwner
from probate.controllers import registry
from probate.controllers.namespaces.status_reports import NextStep, StatusReports
from probate.controllers.workloads import replica_controller
from probate.gc import cycle_breaker
from probate.gc.backends.store import transactions
from probate.gc.backends.store.store_backend import StoreBackend
from probate.gc.collector import Collector
from probate.server.objects import deletion
from probate.server.objects.deletion import DeletionPlan
from probate.server.objects.scope_guards import ScopeGuards
from probate.server.ownership import metadata_view, namespace_content
from probate.server.request import Target
from probate.server.storage import index_entries, storage_keys
from probate.store import retention
from probate.store.contract import EmptyRange, Event, Guard, Page, Revision, Txn, Unchanged
from probate.store.sqlite.group_commit import GroupCommitter
from probate.store.watch_hub import Subscription, WatchHub
from simulation import faults, seeds
from simulation.run import Report

pytestmark = pytest.mark.long
STEPS = 500


def first_failure(first: int = 0) -> Report:
    """Returns the first failure within three hundred seeds from this one. (A rare defect is searched where it was found before.)"""
    report = seeds.first_failure(range(first, first + 300), STEPS)
    assert report is not None, "nothing was found"
    assert seeds.play(report.seed, STEPS) == report, "the failure cannot be played again"
    return report


def unguarded(plan: DeletionPlan) -> DeletionPlan:
    """Returns the plan without the guards against blocking dependents and references."""
    if plan.txn is None:
        return plan
    relatives = ("blocking/", "owned/")
    kept = tuple(guard for guard in plan.txn.guards if not (isinstance(guard, EmptyRange) and guard.prefix.startswith(relatives)))
    return msgspec.structs.replace(plan, txn=msgspec.structs.replace(plan.txn, guards=kept))


@pytest.mark.parametrize(("is_orphaning", "wrong"), [(False, "which blocks it"), (True, "still refers to it")])
def test_owner_that_is_released_without_its_guard(monkeypatch: pytest.MonkeyPatch, is_orphaning: bool, wrong: str) -> None:
    release, remove = transactions._release, transactions.PlainRemovals._release

    def careless(item: Item, *rest: Any, **more: Any) -> DeletionPlan:
        plan = release(item, *rest, **more)
        return unguarded(plan) if item.is_orphaning == is_orphaning else plan

    def careless_too(removals: transactions.PlainRemovals, item: Item) -> Txn | None:
        txn = remove(removals, item)
        return msgspec.structs.replace(txn, guards=()) if txn is not None and item.is_orphaning == is_orphaning else txn

    monkeypatch.setattr(transactions, "_release", careless)
    monkeypatch.setattr(transactions.PlainRemovals, "_release", careless_too)
    assert wrong in first_failure().failure


def test_orphaning_owner_that_removes_references_from_objects_that_it_cannot_own(monkeypatch: pytest.MonkeyPatch) -> None:
    dependents = StoreBackend.first_dependents

    async def by_uid_alone(world: StoreBackend, owners: Sequence[Item], *, limit: int) -> list[KeyPage]:
        anywhere = [msgspec.structs.replace(one, meta=msgspec.structs.replace(one.meta, namespace="")) for one in owners]
        return await dependents(world, anywhere if owners[0].is_orphaning else owners, limit=limit)

    monkeypatch.setattr(StoreBackend, "first_dependents", by_uid_alone)
    assert "which cannot own it" in first_failure().failure


@pytest.mark.parametrize(("is_orphaning", "wrong"), [(False, "is still being deleted"), (True, "somebody works without end")])
def test_release_that_is_guarded_by_uid_alone(monkeypatch: pytest.MonkeyPatch, is_orphaning: bool, wrong: str) -> None:
    released = transactions._release_guard

    def by_uid_alone(item: Item) -> Guard:
        anywhere = msgspec.structs.replace(item, meta=msgspec.structs.replace(item.meta, namespace=""))
        return released(anywhere if item.is_orphaning == is_orphaning else item)

    monkeypatch.setattr(transactions, "_release_guard", by_uid_alone)
    assert wrong in first_failure().failure


@pytest.mark.parametrize("scope", [storage_keys.NAMESPACES_RANGE, f"objects/{storage_keys.CRDS}/"])
def test_creation_without_the_scope_guard(monkeypatch: pytest.MonkeyPatch, scope: str) -> None:
    open_scopes = ScopeGuards.guards

    async def unfenced(self: ScopeGuards, at: Target) -> list[Guard]:
        guards = await open_scopes(self, at)
        return [guard for guard in guards if not (isinstance(guard, Unchanged) and guard.key.startswith(scope))]

    monkeypatch.setattr(ScopeGuards, "guards", unfenced)
    assert f"was created in a closed scope: {scope}" in first_failure().failure


def test_crd_that_is_removed_without_guards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletion, "removal_guards", lambda *_: ())
    assert "although it was not empty" in first_failure().failure


def test_namespace_that_is_removed_without_a_check_of_its_content(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unseen(*_: object) -> bool:
        return False

    monkeypatch.setattr(namespace_content, "has_content", unseen)
    assert "although it was not empty" in first_failure().failure


def test_deletion_without_the_guard_on_the_waiting_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    guards = transactions._precondition_guards
    monkeypatch.setattr(transactions, "_precondition_guards", lambda action: () if isinstance(action, Delete) else guards(action))
    assert "was collected although its owner" in first_failure().failure


def test_position_that_is_saved_before_the_work_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    async def rash(self: Collector) -> None:
        if self.revision > self._saved_position:
            await self._backend.save_position(self.revision)
            self._saved_position = self.revision

    async def turn(self: Collector) -> None:
        await rash(self)
        await turned(self)

    turned = Collector._turn
    monkeypatch.setattr(Collector, "_turn", turn)
    monkeypatch.setattr(Collector, "_save_position", rash)
    assert "at rest" in first_failure().failure


def test_two_events_of_a_watch_in_the_wrong_order(monkeypatch: pytest.MonkeyPatch) -> None:
    publish = WatchHub.publish

    def swapped(hub: WatchHub, events: Sequence[Event], *, revision: Revision) -> None:
        publish(hub, [*events[1:2], *events[:1], *events[2:]], revision=revision)

    monkeypatch.setattr(WatchHub, "publish", swapped)
    assert "but what comes next is" in first_failure().failure


def test_event_that_a_watch_never_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    push = Subscription.push
    numbers = itertools.count(1)

    def lossy(subscription: Subscription, *pushed: Any) -> None:
        if next(numbers) % 50:
            push(subscription, *pushed)

    monkeypatch.setattr(Subscription, "push", lossy)
    assert seeds.first_failure(range(300), STEPS) is not None


def test_deletion_on_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    standing = metadata_view.owner_state

    def rash(*about: Any, **found: Any) -> ResolvedOwner:
        resolved = standing(*about, **found)
        return ResolvedOwner(OwnerState.DANGLING) if resolved.state is OwnerState.UNKNOWN else resolved

    monkeypatch.setattr(metadata_view, "owner_state", rash)
    assert "is of a kind that is not known" in first_failure().failure


def test_cycle_that_is_broken_without_guards(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(cycle: list[Item]) -> Action:
        return ClearBlockOwnerDeletion(cycle[0], frozenset(item.meta.uid for item in cycle), "")

    monkeypatch.setattr(cycle_breaker, "_break", careless)
    assert "do not wait for each other" in first_failure(first=59).failure


def test_index_entries_that_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = index_entries.entry_changes
    monkeypatch.setattr(index_entries, "entry_changes", lambda *given: (changes(*given)[0], []))
    first_failure()


def test_write_that_is_acknowledged_and_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    commit = GroupCommitter._commit
    numbers = itertools.count(1)

    def forgetful(groups: GroupCommitter, revision: Revision) -> None:
        if next(numbers) % 100:
            commit(groups, revision)
        else:
            groups._db.execute("ROLLBACK")

    monkeypatch.setattr(GroupCommitter, "_commit", forgetful)
    assert seeds.first_failure(range(300), STEPS) is not None


def always_two(seed: object) -> faults.FaultRates:
    """Returns the parameters of a seed, with two leaders that create pods."""
    controllers = (*registry.BULK_CONTROLLERS, "replicationcontroller-controller", "replicaset-controller")
    return drawn(seed)._replace(leaders=2, controllers=controllers)


drawn = faults.fault_rates


def test_two_leaders_one_of_whom_releases_owners_without_the_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    release = transactions._release
    monkeypatch.setattr(faults, "fault_rates", always_two)
    monkeypatch.setattr(transactions, "_release", lambda *given, **more: unguarded(release(*given, **more)))
    assert seeds.first_failure(range(300), STEPS) is not None


def test_two_leaders_that_keep_surplus_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nobody_deletes(*_: object) -> None:
        pass

    monkeypatch.setattr(faults, "fault_rates", always_two)
    monkeypatch.setattr(replica_controller.ReplicaSetController, "_delete", nobody_deletes)
    assert "pods, and wants" in first_failure().failure


def test_two_servers_that_overwrite_the_status_of_a_scope_with_what_they_remember(monkeypatch: pytest.MonkeyPatch) -> None:
    def two_damaged(seed: object) -> faults.FaultRates:
        return always_two(seed)._replace(p_damage=0.3)

    monkeypatch.setattr(faults, "fault_rates", two_damaged)
    monkeypatch.setattr(StatusReports, "next_step", lambda *_: NextStep.WRITE)
    assert "things still change" in first_failure().failure


def test_history_that_is_compacted_when_the_clock_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def unsteady(seed: object) -> faults.FaultRates:
        return drawn(seed)._replace(history=5.0, p_jump=0.3, p_crash=0.0, pace=0.1)

    monkeypatch.setattr(faults, "fault_rates", unsteady)
    monkeypatch.setattr(retention, "SteadyClock", lambda clock: clock)
    assert "was forgotten, but what is kept begins at" in first_failure().failure


def often_damaged(seed: object) -> faults.FaultRates:
    """Returns the parameters of a seed, with damaged objects."""
    return drawn(seed)._replace(p_damage=0.3)


def test_damaged_owner_that_counts_as_dangling(monkeypatch: pytest.MonkeyPatch) -> None:
    look_up = StoreBackend._read_items

    async def without_damage(world: StoreBackend, wheres: Sequence[Key]) -> tuple[list[Item | None], set[Key]]:
        return (await look_up(world, wheres))[0], set()

    monkeypatch.setattr(faults, "fault_rates", often_damaged)
    monkeypatch.setattr(StoreBackend, "_read_items", without_damage)
    failure = first_failure().failure
    assert "was collected although its owner" in failure
    assert "is damaged" in failure


def test_damaged_object_that_does_not_hold_its_namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "fault_rates", often_damaged)
    monkeypatch.setattr(Page, "keys", property(lambda page: [record.key for record in page.records]))
    assert "although it was not empty" in first_failure().failure


def test_damaged_object_that_ends_the_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    async def strict(world: StoreBackend, wheres: Sequence[Key]) -> list[Item | None]:
        for where in wheres:
            await world._store.read(where)
        return await items(world, wheres)

    items = StoreBackend.get_items
    monkeypatch.setattr(faults, "fault_rates", often_damaged)
    monkeypatch.setattr(StoreBackend, "get_items", strict)
    first_failure()
