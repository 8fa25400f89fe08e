"""A state machine that takes the views of three tenants, and the platform, through random steps on one store.

Each tenant has a model of its own, which never hears of the others: after each step, everything that its view answers must be what
its model answers. What the platform shares is written to all models, in the platform's names. A revision is common to all.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Coroutine
from typing import Any, TypeVar

import orjson
from hypothesis import stateful
from hypothesis import strategies as st

from probate.api import tenants
from probate.core import errors
from probate.store import contract
from probate.store.contract import NO_REVISION, Absent, EmptyRange, Event, FailedGuards, Guard, Revision, Store, Txn, Unchanged
from probate.tenants.store_view import shared_objects
from probate.tenants.store_view.platform_objects import PlatformObjects
from probate.tenants.store_view.tenant_store import TenantStore
from support import random_transactions, store_engines, store_model, tenant_objects, tenant_stores
from support import store_operations as steps
from support.store_state_machine import OpenWatch, enter, model_result_of, result_of
from support.tenant_objects import OBJECT_RANGES, OWN_KEYS, PLATFORM_KEYS, TENANTS

T = TypeVar("T")

some_tenant = st.sampled_from(TENANTS)
own_keys = st.sampled_from(OWN_KEYS)
entry_numbers = st.lists(st.integers(0, 5), max_size=2, unique=True)
revision_numbers = st.integers(0, 1000)


class TenantMachine(stateful.RuleBasedStateMachine):
    """The rules and invariants. `follows` says whether the shared objects are followed, or read when they are needed."""

    follows = True

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.physical: Any = tenant_stores.IndexedStore(self.run(store_engines.Memory().open()))
        self.platform_model = store_model.Model(Revision(1))
        self.models = {tenant: store_model.Model(Revision(1)) for tenant in TENANTS}
        self.number = 0
        self.write_physical(tenant_objects.SHARED_CRD_KEY, orjson.dumps(tenant_objects.SHARED_CRD), TENANTS)
        self.start = self.platform_model.revision
        platform = PlatformObjects(self.physical)
        self.run(platform.load())
        self.following = tenant_stores.following(platform)
        if self.follows:
            self.run(self.following.__aenter__())
        self.views: dict[str, Store] = {
            tenant: TenantStore(self.physical, tenant, platform, kinds=lambda: tenant_objects.CATALOG) for tenant in TENANTS
        }
        self.watches: list[tuple[str, OpenWatch]] = []

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(call)

    def teardown(self) -> None:
        try:
            self.run(self.compare_all_history())
            for _, watched in self.watches:
                self.run(watched.close())
            if self.follows:
                self.run(self.following.__aexit__(None, None, None))
            self.run(self.physical.close())
        finally:
            self.runner.close()

    # The platform

    @stateful.rule(
        key=st.sampled_from(PLATFORM_KEYS), is_shared=st.booleans(), owner=st.sampled_from(["", *TENANTS]), deletes=st.booleans()
    )
    def change_platform(self, key: str, is_shared: bool, owner: str, deletes: bool) -> None:  # noqa: PLR0917
        labels = {tenants.SHARED_LABEL: "true"} if is_shared else {}
        if key.startswith("objects/persistentvolumes/") and owner:
            before = self.platform_model.read(key)
            if before is not None:  # a volume stays with its tenant
                return
            labels[tenants.TENANT_LABEL] = owner
        self.number += 1
        record = self.platform_model.read(key)
        if deletes and record is None:
            return
        value = None if deletes else tenant_objects.value_of(key, self.number, labels)
        viewers = TENANTS if key in tenant_objects.ALWAYS_SHARED else ()
        if is_class(key):
            viewers = TENANTS if is_shared and not deletes else ()
        self.write_physical(key, value, viewers)

    def write_physical(self, key: str, value: bytes | None, viewers: tuple[str, ...]) -> None:
        """Writes an object of the platform, which these tenants see afterwards."""
        record = self.platform_model.read(key)
        owner = owner_of(value) or (owner_of(record.value) if record is not None else "")
        if key.startswith("objects/persistentvolumes/") and owner and value is not None:
            value = value if owner_of(value) else with_owner(value, owner)
            viewers = (owner,)
        txn = txn_of(key, value, record)
        revision = self.run(steps.commit(self.physical, txn))
        self.platform_model.apply(txn, revision)
        for tenant, model in self.models.items() if shared_objects.is_platform_named(key) else ():
            shown = value if tenant in viewers else None
            known = model.read(key)
            if shown is not None or known is not None:
                model.apply(txn_of(key, without_owner(shown), known), revision)
        self.advance(revision)

    def advance(self, revision: Revision) -> None:
        for model in (self.platform_model, *self.models.values()):
            model.revision = max(model.revision, revision)

    # Tenants

    @stateful.rule(
        tenant=some_tenant,
        key=own_keys,
        deletes=st.booleans(),
        entries=entry_numbers,
        guards=st.lists(st.integers(0, 40), max_size=2),
    )
    def change(self, tenant: str, key: str, deletes: bool, entries: list[int], guards: list[int]) -> None:  # noqa: PLR0917
        self.commit(tenant, self.txn(tenant, key, deletes=deletes, entries=entries, guards=guards))

    @stateful.rule(tenant=some_tenant, keys=st.lists(own_keys, min_size=2, max_size=5, unique=True), deletes=st.booleans())
    def change_many(self, tenant: str, keys: list[str], deletes: bool) -> None:
        txns = [self.txn(tenant, key, deletes=deletes, entries=[0], guards=[]) for key in keys]
        for txn, result in zip(txns, self.run(self.views[tenant].commit_many(txns)), strict=True):
            self.apply(tenant, txn, result)

    @stateful.rule(
        tenant=some_tenant, key=st.sampled_from([key for key in PLATFORM_KEYS if "/default/" not in key]), age=st.integers(0, 3)
    )
    def change_what_is_shared(self, tenant: str, key: str, age: int) -> None:
        """An object of the platform that the tenant sees exists for a create, and cannot be changed."""
        known = self.models[tenant].read(key)
        if known is None or key.startswith("objects/persistentvolumes/"):
            return
        value = tenant_objects.value_of(key, 0)
        assert self.run(steps.failed_guards(self.views[tenant], contract.create(key, value))) == (Absent(key),)
        revision = Revision(max(1, known.revision - age))
        for txn in (contract.update(key, value, revision=revision), contract.delete(key, revision=revision)):
            assert isinstance(self.run(result_of(functools.partial(self.views[tenant].commit, txn))), errors.Forbidden)

    @stateful.rule(
        tenant=some_tenant,
        key=st.sampled_from(["objects/persistentvolumes/-/pvc-1", "objects/persistentvolumes/-/disk"]),
        deletes=st.booleans(),
    )
    def change_own_volume(self, tenant: str, key: str, deletes: bool) -> None:
        """A volume that the platform created for a tenant can be changed by this tenant; for others there is none."""
        record = self.models[tenant].read(key)
        if record is None:
            return
        physical = self.run(self.physical.read(key))
        self.number += 1
        value = None if deletes else tenant_objects.value_of(key, self.number)
        txn = txn_of(key, value, record)
        revision = self.run(steps.commit(self.views[tenant], txn))
        self.models[tenant].apply(txn, revision)
        self.platform_model.apply(txn_of(key, None if value is None else with_owner(value, tenant), physical), revision)
        self.advance(revision)

    def txn(self, tenant: str, key: str, *, deletes: bool, entries: list[int], guards: list[int]) -> Txn:
        record = self.models[tenant].read(key)
        possible = tenant_objects.entries_of(key, f"u-{tenant}")
        chosen = [entry for number, entry in enumerate(possible) if number in entries]
        made = [self.guard(tenant, number) for number in guards]
        self.number += 1
        if record is None:
            return contract.create(key, tenant_objects.value_of(key, self.number), add_entries=chosen, guards=made)
        if deletes:
            return contract.delete(key, revision=record.revision, remove_entries=possible, guards=made)
        value = tenant_objects.value_of(key, self.number)
        return contract.update(key, value, revision=record.revision, add_entries=chosen[:1], remove_entries=chosen[1:], guards=made)

    def guard(self, tenant: str, number: int) -> Guard:
        key = OWN_KEYS[number % len(OWN_KEYS)]
        record = self.models[tenant].read(key)
        ranges = [*tenant_objects.GUARDED_RANGES, f"owned/u-{tenant}/", f"owned/u-{tenant}/web/", f"waiting/u-{tenant}/"]
        match number % 4:
            case 0:
                return Absent(key)
            case 1:
                return EmptyRange(ranges[number % len(ranges)])
        return Absent(key) if record is None else Unchanged(key, record.revision if number % 4 == 2 else Revision(1))

    def commit(self, tenant: str, txn: Txn) -> None:
        self.apply(tenant, txn, self.run(self.views[tenant].commit(txn)))

    def apply(self, tenant: str, txn: Txn, result: contract.CommitResult) -> None:
        model = self.models[tenant]
        failed = model.failed_guards(txn)
        assert result == (FailedGuards(failed) if failed else result)
        if not isinstance(result, FailedGuards):
            assert not failed
            model.apply(txn, result)
            self.advance(result)

    # Reads

    @stateful.rule(
        tenant=some_tenant, keys=st.lists(st.sampled_from([*OWN_KEYS, *PLATFORM_KEYS]), max_size=5), number=revision_numbers
    )
    def read(self, tenant: str, keys: list[str], number: int) -> None:
        view, model = self.views[tenant], self.models[tenant]
        assert self.run(view.read_many(keys)) == [model.read(key) for key in keys]
        at = self.revision(number)
        for key in keys:
            assert self.run(view.read(key)) == model.read(key)
            self.compare(lambda key=key: view.read(key, at=at), lambda key=key: model.read(key, at=at))

    @stateful.rule(
        tenant=some_tenant,
        prefix=st.sampled_from([*OBJECT_RANGES, *tenant_objects.ENTRY_RANGES]),
        after=st.one_of(st.just(""), own_keys, st.sampled_from(PLATFORM_KEYS)),
        limit=st.integers(1, 5),
        number=revision_numbers,
    )
    def scan(self, tenant: str, prefix: str, after: str, limit: int, number: int) -> None:  # noqa: PLR0917
        view, model = self.views[tenant], self.models[tenant]
        assert self.run(view.scan(prefix, after=after, limit=limit)) == model.scan(prefix, after=after, limit=limit)
        assert self.run(view.count(prefix, after=after)) == model.count(prefix, after=after)
        assert self.run(view.child_prefixes(prefix)) == model.child_prefixes(prefix)
        if prefix in OBJECT_RANGES:
            at = self.revision(number)
            self.compare(
                lambda: view.scan(prefix, after=after, limit=limit, at=at),
                lambda: model.scan(prefix, after=after, limit=limit, at=at),
            )
            self.compare(lambda: view.count(prefix, after=after, at=at), lambda: model.count(prefix, after=after, at=at))

    @stateful.rule(tenant=some_tenant, limit=st.integers(1, 4))
    def walk_entries(self, tenant: str, limit: int) -> None:
        view, model = self.views[tenant], self.models[tenant]
        for prefix in (*tenant_objects.ENTRY_RANGES, f"owned/u-{tenant}/", f"owned/u-{tenant}/web/"):
            assert self.run(steps.records(view, prefix, size=limit)) == model.scan(prefix, limit=1000).records
        ranges = [*OBJECT_RANGES, *tenant_objects.ENTRY_RANGES]
        assert self.run(view.nonempty_ranges(ranges)) == {prefix for prefix in ranges if model.count(prefix)}

    def compare(self, call: Any, model_call: Any) -> None:
        actual, expected = self.run(result_of(call)), model_result_of(model_call)
        assert type(actual) is type(expected) if isinstance(expected, errors.ApiError) else actual == expected

    def revision(self, number: int) -> Revision:
        return random_transactions.pick_revision(number, first=self.start, last=self.platform_model.revision)

    # Watches

    @stateful.rule(tenant=some_tenant, prefix=st.sampled_from(OBJECT_RANGES), number=revision_numbers)
    def open_watch(self, tenant: str, prefix: str, number: int) -> None:
        after = min(self.revision(number), self.platform_model.revision)
        manager = self.views[tenant].watch(prefix, after=after)
        self.watches.append((tenant, OpenWatch(manager, self.run(enter(manager)), prefix, after=after)))

    @stateful.precondition(lambda self: self.watches)
    @stateful.rule(skip=st.integers(0, 3), waits=st.booleans())
    def read_watches(self, skip: int, waits: bool) -> None:
        for tenant, watched in self.watches[skip % len(self.watches) :]:
            pending = self.pending(tenant, watched)
            if pending:
                found = self.run(watched.take(len(pending)))
                assert found == pending
                watched.position = found[-1].revision
            elif waits:
                self.run(watched.wait())
                assert not (watched.waiting is not None and watched.waiting.done()), "delivered something that nobody changed"

    def pending(self, tenant: str, watched: OpenWatch) -> list[Event]:
        return [
            event for event in self.models[tenant].events(watched.prefix, after=NO_REVISION) if event.revision > watched.position
        ]

    # Invariants

    @stateful.invariant()
    def each_tenant_sees_what_its_model_holds(self) -> None:
        for tenant, view in self.views.items():
            assert self.run(view.scan("objects/", limit=200)) == self.models[tenant].scan("objects/", limit=200)

    @stateful.invariant()
    def the_store_holds_what_all_models_hold(self) -> None:
        """Every physical object is one of the platform, or of exactly one tenant and labelled so."""
        records = self.run(self.physical.scan("objects/", limit=1000)).records
        of_platform = [record for record in records if self.platform_model.read(record.key) is not None]
        assert of_platform == self.platform_model.scan("objects/", limit=1000).records
        own = [record for record in records if record not in of_platform]
        for record in own:
            assert {owner_of(record.value)} == set(tenants.ids_in_key(record.key))
        seen = {key for tenant in TENANTS for key in self.models[tenant].scan("objects/", limit=1000).keys if key in OWN_KEYS}
        assert len(own) >= len(seen)

    async def compare_all_history(self) -> None:
        for tenant, model in self.models.items():
            for change in model.changes[:: max(1, len(model.changes) // 4)]:
                at = max(change.revision, self.start)
                assert await self.views[tenant].scan("objects/", limit=200, at=at) == model.scan("objects/", limit=200, at=at)
            for prefix in OBJECT_RANGES:
                expected = [event for event in model.events(prefix, after=NO_REVISION) if event.revision > self.start]
                if expected:
                    found = await steps.collect_events(self.views[tenant], prefix, after=self.start, last=expected[-1].revision)
                    assert found == expected


def is_class(key: str) -> bool:
    return key.startswith((f"objects/{tenant_objects.CLASSES}/", f"objects/{tenant_objects.CRDS}/"))


def txn_of(key: str, value: bytes | None, record: contract.Record | None) -> Txn:
    if record is None:
        return contract.create(key, value or b"")
    return (
        contract.delete(key, revision=record.revision) if value is None else contract.update(key, value, revision=record.revision)
    )


def owner_of(value: bytes | None) -> str:
    labels = orjson.loads(value or b"{}").get("metadata", {}).get("labels") or {}
    return str(labels.get(tenants.TENANT_LABEL, ""))


def with_owner(value: bytes, owner: str) -> bytes:
    object_ = orjson.loads(value)
    object_["metadata"]["labels"][tenants.TENANT_LABEL] = owner
    if "spec" in object_:
        object_["spec"]["claimRef"]["namespace"] = f"{owner}-web"
    return orjson.dumps(object_)


def without_owner(value: bytes | None) -> bytes | None:
    if value is None:
        return None
    object_ = orjson.loads(value)
    owner = object_["metadata"]["labels"].pop(tenants.TENANT_LABEL, None)
    if owner is not None and "spec" in object_:
        object_["spec"]["claimRef"]["namespace"] = "web"
    return orjson.dumps(object_)
