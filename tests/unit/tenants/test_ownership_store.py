"""What the ownership layer makes of creates, updates and deletes: labels, entries, guards and refusals."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from probate.api import tenants
from probate.core import errors
from probate.store import contract
from probate.store.contract import (
    Absent,
    CommitResult,
    EmptyRange,
    FailedGuards,
    ReadResult,
    Record,
    Revision,
    Store,
    Txn,
    Unchanged,
)
from probate.store.sqlite.store import open_memory
from probate.tenants.ownership.ownership_store import OwnershipStore
from probate.tenants.ownership.transaction_planner import RESERVED
from support.stored_tenants import close_tenant, committed, create_tenant, entries, label_of, remove_tenant, value

ONE, TWO = "111111", "222222"
NAMESPACE = "objects/namespaces/-/111111-web"
POD = "objects/pods/111111-web/p"
ROLE = "objects/clusterroles.rbac.authorization.k8s.io/-/111111-r"
CRD = "objects/customresourcedefinitions.apiextensions.k8s.io/-/foos.111111-a.com"
FOO = "objects/foos.111111-a.com/-/111111-x"
LABEL = {"kubezoo.io/tenant": ONE}


@pytest.fixture
async def engine() -> AsyncIterator[Store]:
    store = await open_memory()
    yield store
    await store.close()


@pytest.fixture
def store(engine: Store) -> OwnershipStore:
    return OwnershipStore(engine)


async def stored(store: Store, key: str) -> Record:
    record = await store.read(key)
    assert record is not None
    return record


@pytest.mark.parametrize("key", [NAMESPACE, POD, ROLE, CRD, FOO])
async def test_created_object_of_an_open_tenant_gets_label_and_entry(store: OwnershipStore, key: str) -> None:
    await create_tenant(store, ONE)
    revision = committed(await store.commit(contract.create(key, value({"app": "x"}, spec={"a": 1}))))
    assert await stored(store, key) == Record(key, value({"app": "x", **LABEL}, spec={"a": 1}), revision)
    assert await entries(store, ONE) == {key}


async def test_label_that_is_right_is_stored_as_it_is(store: OwnershipStore) -> None:
    await create_tenant(store, ONE)
    await store.commit(contract.create(POD, value(LABEL)))
    assert (await stored(store, POD)).value == value(LABEL)
    assert await entries(store, ONE) == {POD}


async def test_labels_that_are_null_become_the_label(store: OwnershipStore) -> None:
    await create_tenant(store, ONE)
    await store.commit(contract.create(POD, b'{"metadata":{"name":"p","labels":null},"apiVersion":"a.com/v1"}'))
    assert (await stored(store, POD)).value == (
        b'{"metadata":{"name":"p","labels":{"kubezoo.io/tenant":"111111"}},"apiVersion":"a.com/v1"}'
    )


@pytest.mark.parametrize("key", [POD, "objects/pods/default/p"])
@pytest.mark.parametrize("label", [TWO, "nobody", ""])
async def test_create_with_the_label_of_another_tenant_is_invalid(store: OwnershipStore, key: str, label: str) -> None:
    await create_tenant(store, ONE)
    await create_tenant(store, TWO)
    txn = contract.create(key, value({"kubezoo.io/tenant": label or "x"}))
    with pytest.raises(errors.Invalid) as refused:
        await store.commit(txn)
    assert [cause.field for cause in refused.value.details.causes] == ["metadata.labels[kubezoo.io/tenant]"]
    with pytest.raises(errors.Invalid):
        await store.commit_many([txn])
    assert await store.read(key) is None


async def test_text_that_contains_the_label_is_no_label(store: OwnershipStore) -> None:
    selector = value(spec={"namespaceSelector": {"matchLabels": LABEL}})
    await store.commit(contract.create("objects/networkpolicies.networking.k8s.io/default/n", selector))
    await create_tenant(store, ONE)
    await store.commit(contract.create("objects/networkpolicies.networking.k8s.io/111111-web/n", selector))
    assert await entries(store, ONE) == {"objects/networkpolicies.networking.k8s.io/111111-web/n"}


@pytest.mark.parametrize(("key", "field"), [(POD, "metadata.namespace"), (NAMESPACE, "metadata.name"), (ROLE, "metadata.name")])
async def test_create_in_a_terminating_tenant_is_forbidden(store: OwnershipStore, key: str, field: str) -> None:
    await create_tenant(store, ONE)
    await store.commit(contract.create("objects/secrets/111111-web/s", value()))
    await close_tenant(store, ONE)
    with pytest.raises(errors.Forbidden) as refused:
        await store.commit(contract.create(key, value()))
    assert [(cause.reason, cause.field) for cause in refused.value.details.causes] == [("TenantTerminating", field)]
    assert str(refused.value) == "nothing can be created in tenant 111111 because it is being terminated"
    assert await entries(store, ONE) == {"objects/secrets/111111-web/s"}


async def test_create_in_a_terminating_tenant_does_not_affect_the_others_of_a_batch(store: OwnershipStore) -> None:
    await create_tenant(store, ONE)
    await close_tenant(store, ONE)
    other = contract.create("objects/pods/default/p", value())
    first, second = await store.commit_many([contract.create(POD, value()), other])
    assert first == FailedGuards((Unchanged(tenants.open_entry(ONE), contract.NO_REVISION),))
    assert committed(second)
    assert await store.read(POD) is None


async def test_object_between_two_tenants_is_forbidden(store: OwnershipStore) -> None:
    await create_tenant(store, ONE)
    await create_tenant(store, TWO)
    for key in ("objects/bars.222222-b.com/111111-web/y", "objects/bars.222222-b.com/-/111111-y"):
        with pytest.raises(errors.Forbidden, match="tenant 111111 and to tenant 222222"):
            await store.commit(contract.create(key, value()))


async def test_object_of_one_tenant_named_as_another_that_does_not_exist_belongs_to_the_one(store: OwnershipStore) -> None:
    await create_tenant(store, ONE)
    key = "objects/bars.222222-b.com/-/111111-y"
    await store.commit(contract.create(key, value()))
    assert await entries(store, ONE) == await entries(store, TWO) == {key}
    assert label_of((await stored(store, key)).value) == ONE
    assert isinstance(await create_tenant(store, TWO), FailedGuards)
    await store.commit(contract.delete(key, revision=(await stored(store, key)).revision))
    assert await entries(store, ONE) == await entries(store, TWO) == set()


@pytest.mark.parametrize("key", [NAMESPACE, ROLE, CRD, FOO])
async def test_tenant_cannot_be_created_while_its_prefix_is_taken(store: OwnershipStore, key: str) -> None:
    revision = committed(await store.commit(contract.create(key, value())))
    assert (await stored(store, key)).value == value()
    assert await create_tenant(store, ONE) == FailedGuards((EmptyRange("tenant/111111/"),))
    await store.commit(contract.delete(key, revision=revision))
    committed(await create_tenant(store, ONE))


async def test_namespaced_object_without_tenant_has_no_entry(store: OwnershipStore) -> None:
    await store.commit(contract.create(POD, value()))
    assert await entries(store, ONE) == set()


async def test_tenant_itself_belongs_to_nobody(store: OwnershipStore) -> None:
    await create_tenant(store, ONE)
    assert label_of((await stored(store, tenants.tenant_key(ONE))).value) is None
    assert await entries(store, ONE) == set()
    await close_tenant(store, ONE)
    committed(await remove_tenant(store, ONE))


async def test_update_without_the_label_gets_it_back(store: OwnershipStore) -> None:
    await create_tenant(store, ONE)
    revision = committed(await store.commit(contract.create(POD, value({"a": "b"}))))
    revision = committed(await store.commit(contract.update(POD, value(spec={"c": 1}), revision=revision)))
    assert (await stored(store, POD)).value == value(LABEL, spec={"c": 1})
    await close_tenant(store, ONE)
    committed(*await store.commit_many([contract.update(POD, value(), revision=revision)]))
    assert label_of((await stored(store, POD)).value) == ONE


async def test_update_cannot_change_the_label(store: OwnershipStore) -> None:
    await create_tenant(store, ONE)
    await create_tenant(store, TWO)
    revision = committed(await store.commit(contract.create(POD, value())))
    with pytest.raises(errors.Invalid, match="belongs to tenant 111111"):
        await store.commit(contract.update(POD, value({"kubezoo.io/tenant": TWO}), revision=revision))


@pytest.mark.parametrize("key", ["objects/pods/default/p", POD])
async def test_update_cannot_give_the_label_to_an_object_of_no_tenant(store: OwnershipStore, key: str) -> None:
    await create_tenant(store, TWO)
    revision = committed(await store.commit(contract.create(key, value())))
    with pytest.raises(errors.Invalid, match="belongs to no tenant"):
        await store.commit(contract.update(key, value(LABEL), revision=revision))


async def test_object_stored_with_a_wrong_label_can_still_be_updated(engine: Store) -> None:
    """Otherwise a label that an older version accepted would keep the object from being deleted."""
    key = "objects/pods/default/p"
    revision = committed(await engine.commit(contract.create(key, value(LABEL))))
    store = OwnershipStore(engine)
    committed(await store.commit(contract.update(key, value(LABEL, spec={}), revision=revision)))
    assert (await stored(store, key)).value == value(LABEL, spec={})


async def test_objects_of_a_terminating_tenant_can_be_updated_and_deleted(store: OwnershipStore) -> None:
    await create_tenant(store, ONE)
    revision = committed(await store.commit(contract.create(POD, value())))
    await close_tenant(store, ONE)
    assert await remove_tenant(store, ONE) == FailedGuards((EmptyRange("tenant/111111/"),))
    revision = committed(await store.commit(contract.update(POD, value(LABEL, spec={}), revision=revision)))
    await store.commit(contract.delete(POD, revision=revision))
    assert await entries(store, ONE) == set()
    committed(await remove_tenant(store, ONE))


async def test_failed_guards_are_those_of_the_caller(engine: Store) -> None:
    stale, other = OwnershipStore(engine), OwnershipStore(engine)
    await stale.commit(contract.create(ROLE, value()))  # caches that there is no tenant
    await stale.commit(contract.delete(ROLE, revision=(await stored(engine, ROLE)).revision))
    await create_tenant(other, ONE)
    wrong = Unchanged("objects/namespaces/-/111111-web", Revision(1))
    assert await stale.commit(contract.create(POD, value(), guards=[wrong])) == FailedGuards((wrong,))
    committed(await stale.commit(contract.create(POD, value())))
    assert await stale.commit(contract.create(POD, value())) == FailedGuards((Absent(POD),))
    assert await stale.commit_many([contract.create(POD, value())]) == [FailedGuards((Absent(POD),))]


async def test_stale_absence_permits_nothing(engine: Store) -> None:
    stale, other = OwnershipStore(engine), OwnershipStore(engine)
    revision = committed(await stale.commit(contract.create(ROLE, value())))
    await other.commit(contract.delete(ROLE, revision=revision))
    await create_tenant(other, ONE)
    await stale.commit(contract.create(ROLE, value()))
    first, second = await stale.commit_many([contract.create(POD, value()), contract.create(NAMESPACE, value())])
    assert committed(first) < committed(second)
    assert await entries(engine, ONE) == {ROLE, POD, NAMESPACE}


async def test_stale_absence_refused_the_first_object_that_already_had_the_label(engine: Store) -> None:
    """The tenant was created by another server: a create through the tenant's view, which sets the label, was refused."""
    one, other = OwnershipStore(engine), OwnershipStore(engine)
    committed(await one.commit(contract.create(POD, value())))
    await create_tenant(other, ONE)
    committed(await one.commit(contract.create(f"{POD}2", value(LABEL))))
    assert await entries(engine, ONE) == {f"{POD}2"}


@pytest.mark.parametrize("commits_many", [False, True])
async def test_stale_closing_refused_the_objects_of_a_namesake(engine: Store, commits_many: bool) -> None:
    one, other = OwnershipStore(engine), OwnershipStore(engine)
    await create_tenant(other, ONE)
    await close_tenant(other, ONE)
    with pytest.raises(errors.Forbidden):
        await one.commit(contract.create(POD, value()))
    await remove_tenant(other, ONE)
    await create_tenant(other, ONE)
    txn = contract.create(POD, value())
    committed((await one.commit_many([txn]))[0] if commits_many else await one.commit(txn))
    assert await entries(engine, ONE) == {POD}


async def test_stale_openness_permits_nothing(engine: Store) -> None:
    stale, other = OwnershipStore(engine), OwnershipStore(engine)
    await create_tenant(other, ONE)
    await stale.commit(contract.create(POD, value()))
    await close_tenant(other, ONE)
    with pytest.raises(errors.Forbidden):
        await stale.commit(contract.create(NAMESPACE, value()))
    assert await entries(engine, ONE) == {POD}


async def test_stale_openness_does_not_outlive_a_namesake(engine: Store) -> None:
    """The tenant is deleted and another of its name created: objects are of the new one."""
    stale, other = OwnershipStore(engine), OwnershipStore(engine)
    await create_tenant(other, ONE)
    revision = committed(await stale.commit(contract.create(POD, value())))
    await close_tenant(other, ONE)
    await other.commit(contract.delete(POD, revision=revision))
    await remove_tenant(other, ONE)
    await create_tenant(other, ONE)
    await stale.commit(contract.create(NAMESPACE, value()))
    assert await entries(engine, ONE) == {NAMESPACE}


async def test_stale_absence_loses_no_label(engine: Store) -> None:
    """An update without the label, by a server that does not know the tenant."""
    stale, other = OwnershipStore(engine), OwnershipStore(engine)
    await stale.commit(contract.create("objects/pods/111111-old/p", value()))
    await create_tenant(other, ONE)
    revision = committed(await other.commit(contract.create(POD, value())))
    committed(await stale.commit(contract.update(POD, value(spec={}), revision=revision)))
    assert (await stored(engine, POD)).value == value(LABEL, spec={})


async def test_stale_openness_gives_nobodys_object_no_label(engine: Store) -> None:
    """An update with the label, by a server that does not know that the tenant is gone."""
    stale, other = OwnershipStore(engine), OwnershipStore(engine)
    await create_tenant(other, ONE)
    revision = committed(await stale.commit(contract.create(POD, value())))
    await close_tenant(other, ONE)
    await other.commit(contract.delete(POD, revision=revision))
    await remove_tenant(other, ONE)
    revision = committed(await other.commit(contract.create(ROLE, value())))
    with pytest.raises(errors.Invalid, match="belongs to no tenant"):
        await stale.commit(contract.update(ROLE, value(LABEL), revision=revision))


async def test_tenant_that_is_opened_and_closed_all_the_time_ends_the_attempts(engine: Store) -> None:
    await create_tenant(engine, ONE)
    refused = await OwnershipStore(_Reopening(engine)).commit(contract.create(POD, value()))
    assert isinstance(refused, FailedGuards)
    assert [type(guard) for guard in refused.guards] == [Unchanged]
    assert await engine.read(POD) is None


class _Reopening(OwnershipStore):
    """A store in which a tenant is opened anew before each commit."""

    async def commit(self, txn: Txn) -> CommitResult:
        tenant = await stored(self, tenants.tenant_key(ONE))
        reopen = contract.update(tenant.key, tenant.value, revision=tenant.revision, add_entries=[tenants.open_entry(ONE)])
        committed(await self._commit(reopen))
        return await self._commit(txn)


class _Recorder(OwnershipStore):
    """A store that keeps the transactions it gets."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.seen: list[Txn] = []

    async def commit_many(self, txns: Sequence[Txn]) -> list[CommitResult]:
        self.seen += txns
        return await self._commit_many(txns)


async def test_delete_that_removes_the_entry_itself_was_refused(store: OwnershipStore) -> None:
    """As that of a damaged object does, which removes all entries that end with its key."""
    await create_tenant(store, ONE)
    revision = committed(await store.commit(contract.create(POD, value())))
    entry = tenants.content_entry(ONE, POD)
    committed(await store.commit(contract.delete(POD, revision=revision, remove_entries=[entry])))
    assert await entries(store, ONE) == set()


async def test_transactions_of_no_tenant_are_passed_on_as_they_are(engine: Store) -> None:
    recorder = _Recorder(engine)
    txns = [
        contract.create("objects/pods/kube-system/p", value()),
        contract.create("objects/namespaces/-/default", value()),
        contract.create("objects/positions.probate.dev/-/collector", b"7"),
    ]
    await OwnershipStore(recorder).commit_many(txns)
    assert all(one is other for one, other in zip(recorder.seen, txns, strict=True))


async def test_object_with_the_most_entries_can_be_deleted(store: OwnershipStore) -> None:
    most = [f"owned/u{number}/x" for number in range(store.limits.entries - RESERVED)]
    await create_tenant(store, ONE)
    with pytest.raises(errors.TooLarge):
        await store.commit(contract.create(POD, value(), add_entries=[*most, "owned/v/x"]))
    revision = committed(await store.commit(contract.create(POD, value(), add_entries=most)))
    committed(await store.commit(contract.delete(POD, revision=revision, remove_entries=most)))
    assert await store.count("tenant/") == await store.count("owned/") == 0
    assert store.limits.guards > RESERVED


async def test_value_that_is_no_object_cannot_enter_a_tenant(store: OwnershipStore) -> None:
    await create_tenant(store, ONE)
    for wrong in (b"7", b"{", b'{"metadata":[]}', b"{}"):
        with pytest.raises(errors.BadRequest):
            await store.commit(contract.create(POD, wrong))


class CountingStore:
    """A store that counts the keys it reads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.reads: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def read_many(self, keys: Sequence[str]) -> list[ReadResult]:
        self.reads += keys
        return await self._store.read_many(keys)


async def test_evicted_state_is_read_again(engine: Store) -> None:
    counting = CountingStore(engine)
    store = OwnershipStore(counting)
    for tenant in (ONE, TWO):
        await create_tenant(store, tenant)
        await store.commit(contract.create(f"objects/pods/{tenant}-web/a", value()))
    counting.reads.clear()
    await store.evict(ONE)
    await store.evict("333333")
    for tenant in (ONE, TWO):
        committed(await store.commit(contract.create(f"objects/pods/{tenant}-web/b", value())))
    assert counting.reads == [tenants.tenant_key(ONE), tenants.open_entry(ONE)]
