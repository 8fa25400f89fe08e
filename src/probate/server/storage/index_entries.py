"""The index entries of an object: what it says about others, written in the same transaction as the object itself.

    owned/<owner's uid>/<its own namespace>/<key>      it refers to this owner
    blocking/<owner's uid>/<its own namespace>/<key>   ... and blocks the owner's deletion in the foreground
    custom/<kind.group>/<key>                          it refers to an owner of a kind that is not built in
    waiting/<its own uid>/<key>                        it is deleted in the foreground, and waits for those that block it
    orphaning/<its own uid>/<key>                      it is being deleted, and leaves its dependents behind
    since/<when>/<key>                                 since when it is being deleted, if it waits for its dependents

Which dependents an owner has depends on where the owner is: one in a namespace has those of that namespace, one in none has all.

    owner in namespace a     owned/<uid>/a/            a reference from another namespace cannot match, and cannot block
    owner in no namespace    owned/<uid>/

Entries follow from the stored object alone, not from which kinds are served: so what was entered is always found again to be left.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence

from probate.api import deletion
from probate.api.ownership import Meta, Owner
from probate.kinds.builtin import catalog
from probate.server.storage import storage_keys

_SOUND = re.compile(r"[0-9A-Za-z][0-9A-Za-z.-]{0,127}")
"""What a uid, kind or group may be that an object can have. A reference that says anything else refers to nothing."""
FAMILIES = ("owned/", "blocking/", "custom/", "waiting/", "orphaning/", "since/")
SINCE = "since/"
"""The range of all that wait, in the order of their time."""
_IGNORED = "objects/events/"
"""Events are neither collected nor do they keep an owner from going."""


def entries(key: str, meta: Meta) -> list[str]:
    """All entries of the object."""
    return [*[range_ + key for range_ in ranges(key, meta.owner_references)], *_leaving(key, meta)]


def _leaving(key: str, meta: Meta) -> list[str]:
    """The entries that the object has because it is being deleted."""
    if meta.deletion_timestamp is None or key.startswith(_IGNORED) or deletion.COLLECTORS.isdisjoint(meta.finalizers):
        return []
    found = [f"{SINCE}{meta.deletion_timestamp}/{key}"]
    if deletion.is_foreground(meta.finalizers):
        found.append(f"{waiting(meta.uid)}{key}")
    if deletion.ORPHAN in meta.finalizers:
        found.append(f"{orphaning(meta.uid)}{key}")
    return found


def ranges(key: str, owners: Sequence[Owner]) -> list[str]:
    """The ranges in which the object has entries whether it is being deleted or not. Of its key, only the folder matters."""
    if not owners or key.startswith(_IGNORED):
        return []
    end = key.rindex("/")
    namespace = key[key.rindex("/", 0, end) + 1 : end]
    if len(owners) == 1:
        return list(_ranges(owners[0], namespace))
    found: list[str] = []
    for owner in owners:
        found += _ranges(owner, namespace)
    return list(dict.fromkeys(found))


@functools.lru_cache(maxsize=4096)
def _ranges(owner: Owner, namespace: str) -> tuple[str, ...]:
    """The ranges in which one who refers to this owner has an entry."""
    kind = custom_kind(owner.api_version, owner.kind)
    users = (f"custom/{kind}/",) if kind else ()  # also of an owner that cannot be: that shows when its kind is known
    if not _SOUND.fullmatch(owner.uid):
        return users
    blocking = (f"blocking/{owner.uid}/{namespace}/",) if owner.block_owner_deletion else ()
    return (f"owned/{owner.uid}/{namespace}/", *blocking, *users)


def changes(key: str, new: Meta | None, old: Meta | None) -> tuple[list[str], list[str]]:
    """What enters and what leaves when the object changes so."""
    if new is not None and old is not None and new.owner_references == old.owner_references:  # most often
        before, after = _leaving(key, old), _leaving(key, new)
    else:
        before = entries(key, old) if old is not None else []
        after = entries(key, new) if new is not None else []
    if before == after:
        return [], []
    return [one for one in after if one not in before], [one for one in before if one not in after]


def dependents(uid: str, namespace: str) -> str:
    """The range of what refers to an owner that is in this namespace (or in none)."""
    return _of_owner("owned", uid, namespace)


def cluster_scoped_dependents(uid: str) -> str:
    """The range of the cluster-scoped objects that refer to an owner."""
    return f"owned/{uid}/{storage_keys.NO_NAMESPACE}/"


def blockers(uid: str, namespace: str) -> str:
    """The range of what blocks an owner that is in this namespace (or in none)."""
    return _of_owner("blocking", uid, namespace)


def waiting(uid: str) -> str:
    """The range of the object of this uid, if it waits: at most one."""
    return f"waiting/{uid}/"


def orphaning(uid: str) -> str:
    """The range of the object of this uid, if it leaves its dependents behind: at most one.

    Objects that were marked before this entry existed do not have it, and need none: only new references are checked against it.
    """
    return f"orphaning/{uid}/"


def users_of_kind(kind: str, group: str) -> str:
    """The range of what refers to owners of a custom kind."""
    return f"custom/{kind}.{group}/"


def waiting_since(entry: str) -> str:
    """Since when the object waits whose entry this is, in the range `SINCE`."""
    return entry.split("/", 2)[1]


def is_sound(uid: str) -> bool:
    """Whether an object can have this uid, so that references to it are found."""
    return _SOUND.fullmatch(uid) is not None


def object_of(entry: str) -> str:
    """The key of the object whose entry this is."""
    return entry[entry.index("/objects/") + 1 :]


def _of_owner(family: str, uid: str, namespace: str) -> str:
    return f"{family}/{uid}/{namespace}/" if namespace not in {"", storage_keys.NO_NAMESPACE} else f"{family}/{uid}/"


def custom_kind(api_version: str, kind: str) -> str:
    """`kind.group` if such a kind can only be a custom one; else nothing."""
    group = api_version.rpartition("/")[0]
    if not group or not (_SOUND.fullmatch(group) and _SOUND.fullmatch(kind)) or (group, kind) in _built_in():
        return ""
    return f"{kind}.{group}"


@functools.cache
def _built_in() -> frozenset[tuple[str, str]]:
    return frozenset((one.group, one.kind) for one in catalog.load())


def distinct(entries_: Iterable[str]) -> list[str]:
    """The objects whose entries these are, each once, in order."""
    return list(dict.fromkeys(object_of(entry) for entry in entries_))
