"""Tenants in the simulation: their ids, their kinds, and what must be true of them, derived from the commits alone.

To whom an object belongs follows from its name: of two tenants that exist, the names of one never begin like those of the other.
Only the volumes of claims have other names; they belong to whom their label says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from probate.controllers import registry
from probate.store.sqlite.store import SqliteStore
from simulation import kinds
from simulation.history import Change, Version
from simulation.kinds import Kind

IDS = ("111111", "222222", "shared")
NAMESPACES = ("web", "db")
ADMINISTRATOR_OF = "administrator of tenant "
"""What the name of the actor begins with if a request is handled in the view of a tenant."""
TENANT = Kind("tenant.kubezoo.io/v1alpha1", "Tenant", "tenants", False, 0)
VOLUME = Kind("v1", "PersistentVolume", "persistentvolumes", False, 0)
BINDING = Kind("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", False, 0)
_ENTRIES = "SELECT key FROM entry WHERE key >= 'tenant' AND key < 'tenant0'"
_TENANTS = TENANT.key("", "")
_VOLUMES = VOLUME.key("", "")


def in_group_of(tenant: str, kind: Kind) -> Kind:
    """Returns a kind of the same names whose CRD belongs to the tenant."""
    return kind._replace(api_version=f"{tenant}-{kind.api_version}")


KINDS = (TENANT, VOLUME, *(in_group_of(tenant, kind) for tenant in IDS for kind in kinds.CUSTOM))
BY_RESOURCE = {kind.resource: kind for kind in (*kinds.KINDS, *KINDS)}
"""All kinds whose objects are released by the simulated controllers."""


def tenant_named_in(name: str) -> str:
    """Returns the tenant whose names begin like this one; empty if there can be none."""
    return next((tenant for tenant in IDS if name.startswith(f"{tenant}-")), "")


def tenants_in(key: str) -> tuple[str, ...]:
    """Returns the tenants whose names begin like those of the object and of its group."""
    _, resource, namespace, name = key.split("/")
    if resource.startswith("customresourcedefinitions."):
        name = name.partition(".")[2]
    found = (tenant_named_in(name if namespace == "-" else namespace), tenant_named_in(resource.partition(".")[2]))
    return tuple(dict.fromkeys(tenant for tenant in found if tenant))


class TenantRules:
    """The rules of tenants, given the objects before a change."""

    def __init__(self, objects: Mapping[str, Version]) -> None:
        self._objects = objects

    def broken_by(self, change: Change, actor: str) -> Iterator[str]:
        """Describes the rules that the change breaks."""
        if change.key.startswith(_TENANTS):
            yield from self._opened_or_removed(change)
        elif change.after is not None:
            yield from self._entered(change, change.after)
        if actor.startswith(ADMINISTRATOR_OF):
            yield from self._changed_by_user(change, actor.removeprefix(ADMINISTRATOR_OF))
        if actor == registry.TENANT_DELETION and change.before is not None:
            yield from self._swept(change, change.before)

    def _tenant(self, name: str) -> Version | None:
        return self._objects.get(f"{_TENANTS}{name}")

    def _opened_or_removed(self, change: Change) -> Iterator[str]:
        """A tenant is created only if nothing is named like its objects, and removed only if it has none."""
        name = change.key.removeprefix(_TENANTS)
        if change.before is not None and change.after is not None:
            if change.before.is_deleting and not change.after.is_deleting:
                yield f"{change.key} was opened again"
            return
        found = [key for key, one in self._objects.items() if name in tenants_in(key) or one.tenant == name]
        if found:
            what = "created although there is" if change.before is None else "removed although it was not empty:"
            yield f"tenant {name} was {what} {found}"

    def _entered(self, change: Change, after: Version) -> Iterator[str]:
        """Nothing gets into a tenant that is being deleted, and the label says to whom an object belongs."""
        before = "" if change.before is None else change.before.tenant
        owners = [tenant for tenant in tenants_in(change.key) if self._tenant(tenant) is not None]
        if change.key.startswith(_VOLUMES) and not owners:
            owners = [owner] if (owner := before or self._claimant(change, after)) else []
        if [after.tenant] != (owners or [""]):
            yield f"{change.key} has the label of {after.tenant!r}, and belongs to {owners}"
        for owner in owners:
            found = self._tenant(owner)
            if owner != before and (found is None or found.is_deleting):
                yield f"{change.key} was created in a closed tenant: {owner}"

    def _changed_by_user(self, change: Change, tenant: str) -> Iterator[str]:
        """The users of a tenant change only what belongs to it."""
        found = change.after or change.before
        if self._tenant(tenant) is None or found is None or found.tenant != tenant:
            yield f"{change.key} was changed by a user of tenant {tenant}"

    def _claimant(self, change: Change, after: Version) -> str:
        """Returns the tenant of a volume's claim: one that exists and, unless the volume is new to it, is not being deleted."""
        claimant = tenant_named_in(after.claimant)
        found = self._tenant(claimant)
        was_bound = change.before is not None and tenant_named_in(change.before.claimant) == claimant
        return "" if found is None or (was_bound and found.is_deleting) else claimant

    def _swept(self, change: Change, before: Version) -> Iterator[str]:
        """The deletion of a tenant touches only what belongs to it. Of other Tenants it counts the objects."""
        if change.key.startswith(_TENANTS) and change.after is not None and not change.after.is_deleting:
            return
        owner = before if change.key.startswith(_TENANTS) else self._tenant(before.tenant)
        if owner is None or not owner.is_deleting:
            yield f"{change.key} was swept away although it belongs to no tenant that is being deleted"


class TenantIndex:
    """The index entries of tenants that must exist."""

    def __init__(self) -> None:
        self._entries: dict[str, list[str]] = {}  # by object
        self._is_used = False

    def difference(self, store: SqliteStore) -> list[str]:
        """Returns the entries that are missing, or should not exist."""
        if not self._entries and not self._is_used:
            return []
        self._is_used = True
        return sorted({entry for (entry,) in store.database.reader.execute(_ENTRIES)} ^ self.entries)

    @property
    def entries(self) -> set[str]:
        return {entry for entries in self._entries.values() for entry in entries}

    def apply(self, change: Change) -> None:
        entries = [] if change.after is None else list(_entries_of(change.key, change.after))
        if entries:
            self._entries[change.key] = entries
        else:
            self._entries.pop(change.key, None)


def _entries_of(key: str, found: Version) -> Iterator[str]:
    """Yields the entries about tenants of an object. A cluster-scoped one keeps a tenant from being created that it looks like."""
    if key.startswith(_TENANTS):
        if not found.is_deleting:
            yield f"tenant-open/{found.metadata.name}"
        return
    looks_like = tenants_in(key) if key.split("/")[2] == "-" else ()
    for owner in dict.fromkeys((found.tenant, *looks_like)):
        if owner:
            yield f"tenant/{owner}/{key}"
