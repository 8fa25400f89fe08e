"""What a transaction has to become, so that the store records which tenant its object belongs to. Pure: reads and writes nothing.

To which tenant an object belongs is decided by its key, and for a PersistentVolume also by the namespace of its claim, in the
transaction that creates it. It never changes, except that a volume without a tenant becomes the property of the tenant whose
claim it is bound to (adoption).

create, tenant open         + label, + entry `tenant/<id>/<key>`, + guard: the tenant is still open
create, tenant terminating  refused
create, no such tenant      + guard: there is still no such tenant; cluster-scoped: + entry, so that none is created either
create, two such tenants    refused: 403
update                      the label stays as it is: a missing one is put back, another one is refused: 422
delete                      - entry

**Namespaced objects get no entry if there is no such tenant**, because that of their namespace already prevents the tenant: the
tenant is created under `EmptyRange("tenant/<id>/")`, and a namespace outlives what is in it. They need the guard all the same:
their author checked that the namespace exists, but which tenants exist was read from a cache, and the namespace can be a new one
of a new tenant.

Either way, whether the tenant of an object exists cannot change while the object does: a tenant that exists is not removed before
the object's entry, and one that does not exist is not created. Updates rely on this.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from probate.api import tenants
from probate.store.contract import Guard, ReadResult, Record, Txn
from probate.tenants.ownership import prefixed_keys, stored_labels, tenant_errors, tenant_states
from probate.tenants.ownership.tenant_states import TenantState

States: TypeAlias = Mapping[str, TenantState]


class Terminating(NamedTuple):
    """The transaction must not be committed: its object would get into this tenant, which is being deleted."""

    tenant: str


Plan: TypeAlias = Txn | Terminating
"""The transaction to commit, or why there is none."""


def owner_of_new(key: str, label: str, *, prefixes: tuple[str, ...], claimant: str, states: States) -> str:
    """Returns the tenant that a new object belongs to; empty if it belongs to none.

    `prefixes` are the tenants in its key, `claimant` the one of a volume's claim. Raises `Forbidden` if it would belong to two
    tenants, and `Invalid` if its label names another tenant.
    """
    possible = (*prefixes, claimant) if claimant and claimant not in prefixes else prefixes
    existing = [tenant for tenant in possible if states[tenant].exists]
    if len(existing) > 1:
        raise tenant_errors.between_tenants(key, *existing[:2])
    owner = existing[0] if existing else ""
    if label and label != owner:
        raise tenant_errors.wrong_label(key, label, owner)
    return owner


def owned_create(txn: Txn, value: bytes, *, prefixes: tuple[str, ...], claimant: str, states: States) -> Plan:
    """Returns the create of an object that may belong to a tenant. Raises like `owner_of_new`."""
    label = stored_labels.tenant_of(value)
    owner = owner_of_new(txn.key, label, prefixes=prefixes, claimant=claimant, states=states)
    absent = [tenant for tenant in dict.fromkeys((*prefixes, claimant)) if tenant not in {"", owner}]
    taken = [tenant for tenant in absent if tenant in prefixes] if prefixed_keys.is_cluster_scoped(txn.key) else []
    guarded = _changed(txn, guards=map(tenant_states.absence_guard, absent), owners=taken)
    return _entering(guarded, value, tenant=owner, state=states[owner]) if owner else guarded


def guarded_update(txn: Txn, value: bytes, *, prefixes: tuple[str, ...], states: States) -> Txn | None:
    """Fast path: returns the update of an object whose label must be right, under the guard that the tenant is as `states` say.

    Returns None if only the stored object can tell.
    """
    label = stored_labels.tenant_of(value)
    if label:
        if label not in prefixes or not states[label].is_open:
            return None
        return _changed(txn, guards=(tenant_states.open_guard(label, states[label]),))
    if any(states[tenant].exists for tenant in prefixes):
        return None
    return _changed(txn, guards=map(tenant_states.absence_guard, prefixes))


def labelled_update(txn: Txn, value: bytes, current: ReadResult) -> Txn:
    """Returns the update with the label of the stored object. Raises `Invalid` if it has another one."""
    if not isinstance(current, Record) or current.revision != txn.expected_revision:
        return txn  # its own guard fails; or the object is damaged, and the audit says whether its new value is right
    label, stored = stored_labels.tenant_of(value), stored_labels.tenant_of(current.value)
    if label == stored:
        return txn
    if label:
        raise tenant_errors.wrong_label(txn.key, label, stored)
    return _changed(txn, value=stored_labels.with_tenant(value, stored))


def adopting_update(txn: Txn, value: bytes, current: ReadResult, *, claimant: str, states: States) -> Plan:
    """Returns the update of a volume. A volume without a tenant becomes that of `claimant`, the tenant of its claim, if there is
    one.

    A volume whose claim was in a tenant before that became the tenant of the volume stays without one while the tenant is
    terminating.
    """
    if not claimant or not isinstance(current, Record) or current.revision != txn.expected_revision:
        return labelled_update(txn, value, current)
    if stored_labels.tenant_of(current.value):
        return labelled_update(txn, value, current)
    state = states[claimant]
    if not state.exists:
        return _changed(labelled_update(txn, value, current), guards=(tenant_states.absence_guard(claimant),))
    if not state.is_open and stored_labels.claiming_tenant(current.value) == claimant:
        return labelled_update(txn, value, current)
    label = stored_labels.tenant_of(value)
    if label and label != claimant:
        raise tenant_errors.wrong_label(txn.key, label, claimant)
    return _entering(txn, value, tenant=claimant, state=state)


def owned_delete(txn: Txn, owners: Iterable[str]) -> Txn:
    """Returns the delete, which also removes the entries of the object for these tenants. Those that do not exist are ignored."""
    key = txn.key
    entries = tuple(dict.fromkeys([*txn.remove_entries, *[tenants.content_entry(tenant, key) for tenant in owners]]))
    return Txn(key, None, txn.expected_revision, txn.add_entries, entries, txn.guards)


def _entering(txn: Txn, value: bytes, *, tenant: str, state: TenantState) -> Plan:
    """Returns the transaction by which an object enters a tenant."""
    if not state.is_open:
        return Terminating(tenant)
    labelled = value if stored_labels.tenant_of(value) else stored_labels.with_tenant(value, tenant)
    return _changed(txn, value=labelled, guards=(tenant_states.open_guard(tenant, state),), owners=(tenant,))


def _changed(txn: Txn, *, value: bytes | None = None, guards: Iterable[Guard] = (), owners: Iterable[str] = ()) -> Txn:
    """Returns the transaction with another value, further guards, and entries of the object for these tenants."""
    return Txn(
        txn.key,
        txn.value if value is None else value,
        txn.expected_revision,
        (*txn.add_entries, *(tenants.content_entry(tenant, txn.key) for tenant in owners)),
        txn.remove_entries,
        (*txn.guards, *guards),
    )
