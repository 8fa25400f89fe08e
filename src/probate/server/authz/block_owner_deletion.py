"""Whether somebody may say that an owner cannot leave before this object: that holds the owner, and deletes the object with it.

To set `blockOwnerDeletion: true` takes what it would take to hold the owner directly: `update` of its `finalizers`, or `update`
and `delete` of the owner itself. With `Owners.ALL` that goes for every reference to an owner. What was there before the write is
nobody's doing. A reference to a kind that is not served is refused to all but masters, since nobody can say what it would take.

An owner that leaves its dependents behind (`orphan`) leaves when nothing refers to it any more: so ever new references would hold
it too, and to refer to it takes the same right from then on. References count by uid, so this also goes for one that has its uid
under another name, kind or scope. One from another namespace does not count, and needs no right.

The right is to the owner that the reference names, and what it holds is found by its uid. So both have to be of one object, or the
right to one would do for another. That is looked at only for who has the right: others learn nothing about what is there.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from probate.api.catalog import Resource
from probate.api.field_errors import FORBIDDEN, Problem
from probate.api.gvk import GroupVersion
from probate.api.ownership import Item, Meta, Owner
from probate.api.rbac import forbidden_message, policy_rules
from probate.api.rbac.policy_rules import Ask
from probate.api.rbac.users import User
from probate.server import api_errors
from probate.server.authz.owner_checks import Owners
from probate.server.context import Api
from probate.server.ownership import metadata_view
from probate.server.request import Target
from probate.server.storage import index_entries, storage_keys

Object = dict[str, Any]

SLICE = 100
"""References that are looked at before others get the event loop."""
CONTROLLERS = "system:serviceaccount:kube-system:"
"""The server's own controllers. They refer to what they have just read, which may be gone by then."""


async def check(api: Api, user: User, at: Target, new: Object, old: Object | None) -> None:
    """`Invalid`, naming the rule that is missing, if the write refers to owners in a way that its author may not."""
    references = new["metadata"].get("ownerReferences")
    if not references or user.is_master or api.owners is Owners.NONE:
        return
    known = {_said(one) for one in (old or {}).get("metadata", {}).get("ownerReferences") or ()}
    found = []
    for place, one in enumerate(references):
        if _said(one) not in known and (why := await _objection(api, user, at, one)):
            found.append(Problem(FORBIDDEN, _path(place, one), f"Forbidden: cannot be set: {why}"))
        if place % SLICE == SLICE - 1:
            await asyncio.sleep(0)
    if found:
        raise api_errors.invalid(at.resource, new["metadata"].get("name", ""), found)


def _said(reference: Object) -> tuple[object, ...]:
    """What a reference says that takes a right."""
    return (*(reference.get(name) for name in ("apiVersion", "kind", "name", "uid")), bool(reference.get("blockOwnerDeletion")))


def _path(place: int, reference: Object) -> str:
    return f"metadata.ownerReferences[{place}]{'.blockOwnerDeletion' if reference.get('blockOwnerDeletion') else ''}"


async def _objection(api: Api, user: User, at: Target, reference: Object) -> str:
    """What is against the reference, if anything is."""
    blocks, owner = bool(reference.get("blockOwnerDeletion")), _owner(reference)
    version = GroupVersion.parse(owner.api_version)
    kind = api.catalog.find_kind(version.group, version.version, owner.kind)
    if kind is None and (blocks or api.owners is Owners.ALL):
        return f"no kind {owner.kind} of {owner.api_version} is served, so nobody has a right to it"
    if kind is None:
        return await _objection_by_uid(api, user, at, owner)
    ask = Ask("update", kind.group, kind.plural, "", at.namespace or "" if kind.is_namespaced else "", owner.name)
    if (blocks or api.owners is Owners.ALL) and not await _may_hold(api, user, ask):
        return _told(user, ask._replace(subresource="finalizers"))
    if user.name.startswith(CONTROLLERS):
        return ""
    found = await _find(api, at, owner, kind)
    if found is None and blocks:
        return f"there is no {kind.kind} {owner.name} with the uid {owner.uid}, so it cannot be held"
    if found is None:
        return await _objection_by_uid(api, user, at, owner)
    return _orphans(owner) if found.is_orphaning and not await _may_hold(api, user, ask) else ""


async def _objection_by_uid(api: Api, user: User, at: Target, owner: Owner) -> str:
    """What is against a reference that names nobody, but has the uid of an owner that orphans its dependents."""
    if not index_entries.is_sound(owner.uid) or user.name.startswith(CONTROLLERS):
        return ""
    page = await api.store.scan(index_entries.orphaning(owner.uid), limit=1)
    if not page.records:
        return ""
    _, resource, namespace, name = index_entries.object_of(page.records[0].key).split("/")
    namespace = "" if namespace == storage_keys.NO_NAMESPACE else namespace
    if namespace not in {"", at.namespace or ""}:
        return ""
    plural, _, group = resource.partition(".")
    return "" if await _may_hold(api, user, Ask("update", group, plural, "", namespace, name)) else _orphans(owner)


def _orphans(owner: Owner) -> str:
    return f"{owner} is being deleted and leaves its dependents behind, so nothing new can refer to it"


async def _may_hold(api: Api, user: User, owner: Ask) -> bool:
    if await api.access.allows(user, owner._replace(subresource="finalizers")):
        return True
    return await api.access.allows(user, owner) and await api.access.allows(user, owner._replace(verb="delete"))


async def _find(api: Api, at: Target, owner: Owner, kind: Resource) -> Item | None:
    """The owner, if who is named is who is meant."""
    where = metadata_view.place(Item("", 0, Meta(at.name, at.namespace or "")), owner, kind)
    record = await api.store.read(where) if where else None
    found = None if record is None else metadata_view.item_of(record)
    return found if found is not None and found.meta.uid == owner.uid else None


def _owner(reference: Object) -> Owner:
    version, kind, name, uid = (str(reference.get(one) or "") for one in ("apiVersion", "kind", "name", "uid"))
    return Owner(version, kind, name, uid)


def _told(user: User, ask: Ask) -> str:
    rule = json.dumps(policy_rules.to_object(forbidden_message.rule_for(ask)))
    return (
        f"it would hold an owner that its author may not hold: {forbidden_message.sentence(user, ask)}. "
        f'What is missing is a rule such as {rule}, or "update" and "delete" of {ask.resource}'
    )
