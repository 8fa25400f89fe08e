"""The ownership index: entries that are derived from an object and written in the same transaction as the object.

    owned/<owner uid>/<own namespace>/<key>       the object has an owner reference to this uid
    blocking/<owner uid>/<own namespace>/<key>    ... with blockOwnerDeletion
    custom/<kind.group>/<key>                     the object has an owner reference to a kind that is not built-in
    waiting/<own uid>/<key>                       foreground deletion: the object waits for its blocking dependents
    orphaning/<own uid>/<key>                     the object is being deleted and orphans its dependents
    since/<deletionTimestamp>/<key>               the object is being deleted and waits for its dependents
    tenant-open/<name>                            the object is a Tenant that is not being deleted

The dependents of an owner in a namespace are those in the same namespace; a cluster-scoped owner has dependents everywhere.

    owner in namespace a     owned/<uid>/a/       a reference from another namespace does not match and does not block
    cluster-scoped owner     owned/<uid>/

Entries are derived from the stored object alone, not from the kinds that are served. So the entries to remove are always exactly
those that were added.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence

from probate.api import deletion, object_keys, tenants
from probate.api.object_keys import Key
from probate.api.ownership import ObjectMeta, OwnerReference
from probate.kinds.builtin import catalog

_VALID_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z.-]{0,127}")
"""The uids and groups that an object can have. A reference with any other value refers to nothing."""
_VALID_KIND = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,127}")
"""The kinds that an object can have. Without a dot: in `kind.group`, the first one is where the group begins."""
FAMILIES = ("owned/", "blocking/", "custom/", "waiting/", "orphaning/", "since/", "tenant/")
"""The families whose entries end with the key of their object."""
SINCE_RANGE = "since/"
"""The range of all objects that wait for their dependents, ordered by deletionTimestamp."""
_EVENTS = object_keys.resource_range("events")
"""Events have no entries: they are not collected and do not block an owner."""


def entries_of(key: str, meta: ObjectMeta) -> list[str]:
    """Returns all entries of an object."""
    return [*[range_ + key for range_ in owner_ranges(key, meta.owner_references)], *_deletion_entries(key, meta)]


def _deletion_entries(key: str, meta: ObjectMeta) -> list[str]:
    """Returns the entries that an object has because it is being deleted or, for a Tenant, because it is not."""
    if meta.deletion_timestamp is None:
        return [tenants.open_entry(meta.name)] if key.startswith(tenants.TENANTS_RANGE) else []
    if key.startswith(_EVENTS) or deletion.COLLECTOR_FINALIZERS.isdisjoint(meta.finalizers):
        return []
    result = [f"{SINCE_RANGE}{meta.deletion_timestamp}/{key}"]
    if deletion.is_foreground(meta.finalizers):
        result.append(f"{waiting_range(meta.uid)}{key}")
    if deletion.ORPHAN_FINALIZER in meta.finalizers:
        result.append(f"{orphaning_range(meta.uid)}{key}")
    return result


def owner_ranges(key: str, owners: Sequence[OwnerReference]) -> list[str]:
    """Returns the ranges of an object's entries about its owners. They depend on the namespace in the key, not on the name."""
    if not owners or key.startswith(_EVENTS):
        return []
    end = key.rindex("/")
    namespace = key[key.rindex("/", 0, end) + 1 : end]
    if len(owners) == 1:
        return list(_ranges_of_owner(owners[0], namespace))
    result: list[str] = []
    for owner in owners:
        result += _ranges_of_owner(owner, namespace)
    return list(dict.fromkeys(result))


@functools.lru_cache(maxsize=4096)
def _ranges_of_owner(owner: OwnerReference, namespace: str) -> tuple[str, ...]:
    """Returns the ranges in which an object with this owner reference has an entry."""
    kind = custom_kind_name(owner.api_version, owner.kind)
    custom_range = (f"custom/{kind}/",) if kind else ()  # even if the uid is invalid: that shows once the kind is served
    if not _VALID_NAME.fullmatch(owner.uid):
        return custom_range
    blocking = (f"blocking/{owner.uid}/{namespace}/",) if owner.block_owner_deletion else ()
    return (f"owned/{owner.uid}/{namespace}/", *blocking, *custom_range)


def entry_changes(key: str, new: ObjectMeta | None, old: ObjectMeta | None) -> tuple[list[str], list[str]]:
    """Returns the entries that an update adds and removes. `new` is None for a deletion, `old` for a creation."""
    # Fast path: most updates do not change owner references.
    if new is not None and old is not None and new.owner_references == old.owner_references:
        before, after = _deletion_entries(key, old), _deletion_entries(key, new)
    else:
        before = entries_of(key, old) if old is not None else []
        after = entries_of(key, new) if new is not None else []
    if before == after:
        return [], []
    return [entry for entry in after if entry not in before], [entry for entry in before if entry not in after]


def dependents_range(uid: str, namespace: str) -> str:
    """Returns the range of the dependents of an owner in this namespace (empty or `-`: cluster-scoped)."""
    return _of_owner("owned", uid, namespace)


def cluster_scoped_dependents_range(uid: str) -> str:
    """Returns the range of the cluster-scoped objects that refer to an owner."""
    return f"owned/{uid}/{object_keys.NO_NAMESPACE}/"


def blocking_range(uid: str, namespace: str) -> str:
    """Returns the range of the blocking dependents of an owner in this namespace (empty or `-`: cluster-scoped)."""
    return _of_owner("blocking", uid, namespace)


def waiting_range(uid: str) -> str:
    """Returns the range that holds the object with this uid if it waits for its dependents: at most one entry."""
    return f"waiting/{uid}/"


def orphaning_range(uid: str) -> str:
    """Returns the range that holds the object with this uid if it orphans its dependents: at most one entry.

    Objects that were marked before this entry existed do not have it. They need none: only new references are checked against it.
    """
    return f"orphaning/{uid}/"


def custom_kind_range(kind: str, group: str) -> str:
    """Returns the range of the objects that refer to owners of a custom kind."""
    return f"custom/{kind}.{group}/"


def deletion_timestamp_of(entry: str) -> str:
    """Returns the deletionTimestamp in an entry of `SINCE_RANGE`."""
    return entry.split("/", 2)[1]


def is_valid_uid(uid: str) -> bool:
    """Whether an object can have this uid. References to any other uid have no entries."""
    return _VALID_NAME.fullmatch(uid) is not None


def is_derivable(entry: str) -> bool:
    """Whether an object can have this entry: not if the group in it is too long, which it may be in one view of a tenant only."""
    family, _, rest = entry.partition("/")
    return family != "custom" or _VALID_NAME.fullmatch(rest.partition("/")[0].partition(".")[2]) is not None


def object_key_of(entry: str) -> Key:
    """Returns the key of the object that an entry belongs to."""
    return Key(entry[entry.index("/objects/") + 1 :])


def _of_owner(family: str, uid: str, namespace: str) -> str:
    return f"{family}/{uid}/{namespace}/" if namespace not in {"", object_keys.NO_NAMESPACE} else f"{family}/{uid}/"


def custom_kind_name(api_version: str, kind: str) -> str:
    """Returns `kind.group` if the kind can only be a custom one, else an empty string."""
    group = api_version.rpartition("/")[0]
    if not group or not (_VALID_NAME.fullmatch(group) and _VALID_KIND.fullmatch(kind)) or (group, kind) in _built_in():
        return ""
    return f"{kind}.{group}"


@functools.cache
def _built_in() -> frozenset[tuple[str, str]]:
    return frozenset((resource.group, resource.kind) for resource in catalog.load())


def distinct_object_keys(entries_: Iterable[str]) -> list[Key]:
    """Returns the keys of the objects that these entries belong to, without duplicates, in order."""
    return list(dict.fromkeys(object_key_of(entry) for entry in entries_))
