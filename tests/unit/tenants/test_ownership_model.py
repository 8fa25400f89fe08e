"""Random writes of two servers, whose caches are stale, while tenants are created, closed and removed: compared with a model.

The model knows for each object to whom it belongs. After every step the labels and the entries of the store say the same.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from probate.api import object_keys, tenants
from probate.core import errors
from probate.store import contract, pagination
from probate.store.contract import CommitResult, EmptyRange, FailedGuards, Guard, Record, Store, Txn, Unchanged
from probate.store.sqlite.store import open_memory
from probate.tenants.ownership.audit import audit
from probate.tenants.ownership.ownership_store import OwnershipStore
from support.stored_tenants import close_tenant, create_tenant, label_of, remove_tenant, value

FOOS = "foos.222222-a.com"
CRD = f"objects/customresourcedefinitions.apiextensions.k8s.io/-/{FOOS}"
IDS = ("111111", "222222", "my-app")
NAMESPACES = [f"objects/namespaces/-/{name}" for name in (*(f"{one}-web" for one in IDS), "plain")]
NAMESPACED = [f"objects/pods/{key.rpartition('/')[2]}/p" for key in NAMESPACES] + [f"objects/{FOOS}/111111-web/x"]
CLUSTER_SCOPED = [
    *(f"objects/clusterroles.rbac.authorization.k8s.io/-/{one}-r" for one in IDS),
    CRD,
    f"objects/{FOOS}/-/111111-x",
    "objects/clusterroles.rbac.authorization.k8s.io/-/view",
]
VOLUMES = ["objects/persistentvolumes/-/v", "objects/persistentvolumes/-/111111-v"]
KEYS = [*NAMESPACES, *NAMESPACED, *CLUSTER_SCOPED, *VOLUMES]
CLAIMS = ("", "plain", "111111-web", "222222-web")


class Step(NamedTuple):
    """One write. `label` is the label that the author sends: None means the one that the object has."""

    action: str
    server: int
    key: str
    tenant: str
    claim: str
    label: str | None
    is_batch: bool


steps = st.builds(
    Step,
    st.sampled_from(("write", "write", "write", "delete", "open", "open", "close", "remove")),
    st.sampled_from((0, 1)),
    st.sampled_from(KEYS),
    st.sampled_from(IDS),
    st.sampled_from(CLAIMS),
    st.sampled_from((None, None, None, "", "111111")),
    st.booleans(),
)


class Model:
    """To whom every object belongs, and which tenants exist; the value is whether a tenant is open."""

    def __init__(self) -> None:
        self.owners: dict[str, str] = {}
        self.claims: dict[str, str] = {}
        self.tenants: dict[str, bool] = {}

    def content(self, tenant: str) -> set[str]:
        return {key for key, owner in self.owners.items() if owner == tenant} | {
            key for key, owner in self.owners.items() if tenant in tenants.ids_in_key(key) and owner != tenant and "/-/" in key
        }

    def owner_of_new(self, key: str, claim: str) -> str | None:
        """Returns the owner of a new object; None if it is refused."""
        named = {*tenants.ids_in_key(key), tenants.id_in_name(claim) if key in VOLUMES else ""}
        existing = named & self.tenants.keys()
        if not existing:
            return ""
        [*owners] = existing
        return owners[0] if len(owners) == 1 and self.tenants[owners[0]] else None

    def owner_of_updated(self, key: str, claim: str) -> str | None:
        owner, claimant = self.owners[key], tenants.id_in_name(claim)
        if owner or key not in VOLUMES or claimant not in self.tenants:
            return owner
        if self.tenants[claimant]:
            return claimant
        return "" if tenants.id_in_name(self.claims[key]) == claimant else None


async def scope_guards(store: Store, key: str) -> list[Guard] | None:
    """Returns the guards of a create, as the server has them; None if the namespace or the CRD does not exist."""
    about = object_keys.parse(key)
    scopes = [f"objects/namespaces/-/{about.namespace}"] if about.namespace else []
    found = [await store.read(scope) for scope in (*scopes, *([CRD] if about.resource == FOOS else []))]
    return None if None in found else [Unchanged(record.key, record.revision) for record in found if record is not None]


def content_guards(key: str) -> list[Guard]:
    """Returns the guards of the removal of a namespace or a CRD: that it is empty."""
    if key == CRD:
        return [EmptyRange(f"objects/{FOOS}/")]
    return [EmptyRange(f"objects/{one}/{object_keys.name_in(key)}/") for one in ("pods", FOOS)] if key in NAMESPACES else []


async def transaction(store: Store, step: Step) -> Txn | None:
    """Returns the transaction of a write, as the server builds it from what it reads; None if there is nothing to do."""
    current = await store.read(step.key)
    if step.action == "delete":
        if current is None:
            return None
        return contract.delete(step.key, revision=current.revision, guards=content_guards(step.key))
    stored = label_of(current.value) if current is not None else ""
    label = stored if step.label is None else step.label
    spec = {"claimRef": {"namespace": step.claim}} if step.claim and step.key in VOLUMES else {}
    new = value({tenants.TENANT_LABEL: label} if label else None, spec=spec)
    if current is not None:
        return contract.update(step.key, new, revision=current.revision)
    guards = await scope_guards(store, step.key)
    return None if guards is None else contract.create(step.key, new, guards=guards)


async def commit(store: Store, txn: Txn, *, is_batch: bool) -> CommitResult | errors.ApiError:
    try:
        return (await store.commit_many([txn]))[0] if is_batch else await store.commit(txn)
    except (errors.Forbidden, errors.Invalid) as error:
        return error


async def write(store: Store, step: Step, model: Model) -> None:
    txn = await transaction(store, step)
    if txn is None:
        return
    outcome = await commit(store, txn, is_batch=step.is_batch)
    is_done = isinstance(outcome, int)
    if txn.value is None:
        assert is_done == (await store.read(step.key) is None)
        if is_done:
            del model.owners[step.key]
        return
    new = step.key not in model.owners
    owner = model.owner_of_new(step.key, step.claim) if new else model.owner_of_updated(step.key, step.claim)
    sent = label_of(txn.value)
    assert is_done == (owner is not None and sent in {None, owner}), (step, outcome, model.tenants)
    if is_done and owner is not None:
        model.owners[step.key], model.claims[step.key] = owner, step.claim


async def change_tenant(store: Store, step: Step, model: Model) -> None:
    tenant = step.tenant
    if step.action == "open" and tenant not in model.tenants:
        is_done = not isinstance(await create_tenant(store, tenant), FailedGuards)
        assert is_done == (not model.content(tenant))
        if is_done:
            model.tenants[tenant] = True
    elif step.action == "close" and model.tenants.get(tenant):
        await close_tenant(store, tenant)
        model.tenants[tenant] = False
    elif step.action == "remove" and model.tenants.get(tenant) is False:
        is_done = not isinstance(await remove_tenant(store, tenant), FailedGuards)
        assert is_done == (not model.content(tenant))
        if is_done:
            del model.tenants[tenant]


async def records(store: Store, prefix: str) -> list[Record]:
    return [record async for page in pagination.pages(store, prefix) for record in page.records]


async def check(store: Store, model: Model) -> None:
    objects = [record for record in await records(store, "objects/") if not record.key.startswith(tenants.TENANTS_RANGE)]
    assert {record.key: label_of(record.value) or "" for record in objects} == model.owners
    listed = {record.key for record in await records(store, "tenant/")}
    assert listed == {tenants.content_entry(tenant, key) for tenant in IDS for key in model.content(tenant)}


@given(st.lists(steps, max_size=40))
@settings(max_examples=200)
def test_labels_and_entries_equal_the_model(sequence: list[Step]) -> None:
    async def run() -> None:
        engine = await open_memory()
        servers, model = [OwnershipStore(engine), OwnershipStore(engine)], Model()
        for step in sequence:
            change = write if step.action in {"write", "delete"} else change_tenant
            await change(servers[step.server], step, model)
            await check(engine, model)
        assert (await audit(engine)).findings == ()
        await engine.close()

    asyncio.run(run())


@given(st.lists(st.lists(steps, min_size=1, max_size=8), max_size=8), st.lists(st.booleans(), min_size=64, max_size=64))
@settings(max_examples=100)
def test_concurrent_writes_leave_nothing_outside_the_index(rounds: list[list[Step]], late: list[bool]) -> None:
    """Each write is based on what was read before the others of its round; half of them are sent only after the others."""

    async def one(store: Store, step: Step, *, is_late: bool) -> None:
        if step.action in {"write", "delete"}:
            txn = await transaction(store, step)
            await asyncio.sleep(0)
            for _ in range(20 if is_late else 0):
                await asyncio.sleep(0)
            if txn is not None:
                await commit(store, txn, is_batch=step.is_batch)
        elif step.action == "open" and await store.read(tenants.tenant_key(step.tenant)) is None:
            await create_tenant(store, step.tenant)
        elif step.action != "open" and await store.read(tenants.tenant_key(step.tenant)) is not None:
            await (close_tenant if step.action == "close" else remove_if_closed)(store, step.tenant)

    async def run() -> None:
        engine = await open_memory()
        servers, lateness = [OwnershipStore(engine), OwnershipStore(engine)], iter(late)
        for round_ in rounds:
            await asyncio.gather(*(one(servers[step.server], step, is_late=next(lateness)) for step in round_))
            await check_invariants(engine)
        await check_fences(engine)
        assert (await audit(engine)).findings == ()
        await engine.close()

    asyncio.run(run())


async def remove_if_closed(store: Store, tenant: str) -> CommitResult | None:
    return await remove_tenant(store, tenant) if await store.read(tenants.open_entry(tenant)) is None else None


async def check_invariants(store: Store) -> None:
    """Every object has the label and the entry of the tenant that its key names, if that exists; and no entry is without object."""
    existing = {object_keys.name_in(record.key) for record in await records(store, tenants.TENANTS_RANGE)}
    expected = set()
    for record in await records(store, "objects/"):
        named = set(tenants.ids_in_key(record.key))
        label = label_of(record.value)
        assert label is None or label in existing
        if record.key not in VOLUMES:
            assert (named & existing) == ({label} if label else set()), record.key
        owners = ({label} if label else set()) | (named - existing if "/-/" in record.key else set())
        expected |= {tenants.content_entry(owner, record.key) for owner in owners}
    assert {record.key for record in await records(store, "tenant/")} == expected


async def check_fences(store: Store) -> None:
    """Nothing that is in a tenant was created after the tenant was closed."""
    for tenant in await records(store, tenants.TENANTS_RANGE):
        is_closed = await store.read(tenants.open_entry(object_keys.name_in(tenant.key))) is None
        for entry in await records(store, tenants.content_range(object_keys.name_in(tenant.key))):
            assert not is_closed or entry.revision < tenant.revision
