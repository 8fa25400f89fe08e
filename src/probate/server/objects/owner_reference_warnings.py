"""What is wrong with the references to owners that somebody writes, and what will become of the object: told when it is written.

The API takes references to anything, and the collector acts on them a moment later. So whoever refers to an owner that is not
there, or out of reach, or another one of the same name, hears of it at once: by a warning, or by a refusal if that is wanted.

Nobody learns about objects that they may not read. The server's own controllers are not told: they read what they refer to.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from probate.api.catalog import Resource
from probate.api.field_errors import INVALID, Problem
from probate.api.gvk import GroupVersion
from probate.api.ownership import Item, Meta, Owner, Standing
from probate.api.rbac.policy_rules import Ask
from probate.api.rbac.users import User
from probate.core import errors
from probate.server import api_errors
from probate.server.admission.attributes import Act
from probate.server.authz.block_owner_deletion import CONTROLLERS
from probate.server.context import Api
from probate.server.ownership import metadata_view, owner_lookup
from probate.server.request import Target
from probate.store.contract import Record

Object = dict[str, Any]

MAX_REFERENCES = 20
"""References of one write that are looked at."""
MAX_CLIMB = 20
"""How far up a circle is looked for."""


class Answer(Enum):
    """What who writes such references gets, by the names that the setting has."""

    NOTHING = "off"
    WARNING = "warn"
    REFUSAL = "refuse"


async def check(api: Api, act: Act, at: Target, new: Object, old: Object | None) -> None:
    """Warn about new references that will not do what they look like; or refuse them with `Invalid`."""
    answer = Answer(api.owner_checks)
    if answer is Answer.NOTHING or act.user.name.startswith(CONTROLLERS):
        return
    before = (old or {}).get("metadata", {})
    known, uid = before.get("ownerReferences") or [], before.get("uid", "")
    given = list(enumerate(new["metadata"].get("ownerReferences") or []))[:MAX_REFERENCES]
    found = [
        (place, told) for place, one in given if one not in known and (told := await _told(api, act.user, at, uid, _owner(one)))
    ]
    if found and answer is Answer.REFUSAL:
        problems = [Problem(INVALID, f"metadata.ownerReferences[{place}]", f"Invalid value: {told}") for place, told in found]
        raise api_errors.invalid(at.resource, new["metadata"].get("name", ""), problems)
    act.warn(*(f"metadata.ownerReferences[{place}]: {told}" for place, told in found))


async def _told(api: Api, user: User, at: Target, uid: str, owner: Owner) -> str:
    """What is wrong with the reference; nothing if nothing is, or it is not for this user to know. A new object has no uid."""
    kind = _kind(api, owner)
    if kind is None:
        return f"no kind {owner.kind} of {owner.api_version} is served: until it is, this object is not collected"
    item = Item("", 0, Meta(at.name, at.namespace or "", uid))
    if kind.is_namespaced and not at.namespace:
        return f"{owner} lies in a namespace, and cannot own an object that lies in none: this object is not collected"
    if not await api.access.allows(user, _read(kind, at, owner)):
        return ""
    where = metadata_view.place(item, owner, kind)
    try:
        found = await api.store.read(where) if where else None
    except errors.DamagedObject:
        return f"the stored data of {owner} is damaged: the collector keeps this object until that owner is removed"
    seen = metadata_view.standing(item, owner, kind, None if found is None else metadata_view.item_of(found))
    if seen.standing is Standing.DANGLING:
        return await _lost(api, user, item, owner, kind, found)
    if seen.standing is Standing.WAITING:
        return f"{owner} is being deleted, and waits for its dependents to go: this object goes with it"
    return await _circle(api, user, at, item, seen.item) if seen.item is not None and uid else ""


def _read(kind: Resource, at: Target, owner: Owner) -> Ask:
    return Ask("get", kind.group, kind.plural, "", (at.namespace or "") if kind.is_namespaced else "", owner.name)


async def _lost(api: Api, user: User, item: Item, owner: Owner, kind: Resource, found: Record | None) -> str:
    gone = "if it has no other owner, this object is deleted in a moment"
    if found is not None:
        return f"{owner.kind} {owner.name} has another uid than {owner.uid}: {gone}"
    may_look = kind.is_namespaced and await api.access.allows(user, Ask("get", kind.group, kind.plural, "", "", owner.name))
    if may_look and (await owner_lookup.elsewhere(api.store, lambda _: kind, [(item, owner)]))[0]:
        return f"{owner} lies in another namespace, and cannot own an object in this one: {gone}"
    return f"there is no {owner}: {gone}"


async def _circle(api: Api, user: User, at: Target, item: Item, above: Item) -> str:
    """Whether the object owns its owner: looked for upwards, along each first owner that the user may read."""
    seen = above
    for _ in range(MAX_CLIMB):
        if seen.meta.uid == item.meta.uid:
            return f"{above.meta.name} and this object own each other: neither is collected before one of them is deleted"
        parents = [one for one in seen.meta.owner_references if one.uid == item.meta.uid] or seen.meta.owner_references[:1]
        if not parents:
            return ""
        kind = _kind(api, parents[0])
        if kind is None or not await api.access.allows(user, _read(kind, at, parents[0])):
            return ""
        where = metadata_view.place(seen, parents[0], kind)
        [record] = await api.store.read_many([where]) if where else [None]
        if not isinstance(record, Record):
            return ""
        seen = metadata_view.item_of(record)
    return ""


def _kind(api: Api, owner: Owner) -> Resource | None:
    version = GroupVersion.parse(owner.api_version)
    return api.catalog.find_kind(version.group, version.version, owner.kind)


def _owner(reference: Object) -> Owner:
    said = {name: str(reference.get(name) or "") for name in ("apiVersion", "kind", "name", "uid")}
    return Owner(said["apiVersion"], said["kind"], said["name"], said["uid"], bool(reference.get("blockOwnerDeletion")))
