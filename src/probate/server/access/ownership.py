"""Whether somebody may say that an owner cannot leave before this object: that holds the owner, and deletes the object with it.

To set `blockOwnerDeletion: true` takes what it would take to hold the owner directly: `update` of its `finalizers`, or `update`
and `delete` of the owner itself. With `Owners.ALL` that goes for every reference to an owner. What was there before the write is
nobody's doing. A reference to a kind that is not served is refused to all but masters, since nobody can say what it would take.

The owner is not looked at: whether it is there makes no difference to the answer, so the answer tells nothing about it.
"""

from __future__ import annotations

import json
from typing import Any

from probate.machinery.gvk import GroupVersion
from probate.machinery.problems import FORBIDDEN, Problem
from probate.machinery.rbac import missing, rules
from probate.machinery.rbac.rules import Ask
from probate.machinery.rbac.users import User
from probate.server import refusals
from probate.server.access.owners import Owners
from probate.server.api import Api
from probate.server.request import Target

Object = dict[str, Any]


async def check(api: Api, user: User, at: Target, new: Object, old: Object | None) -> None:
    """`Invalid`, naming the rule that is missing, if the write refers to owners in a way that its author may not."""
    references = new["metadata"].get("ownerReferences")
    if not references or user.is_master:
        return
    known = {_said(one) for one in (old or {}).get("metadata", {}).get("ownerReferences") or ()}
    asked = [
        (place, one)
        for place, one in enumerate(references)
        if (one.get("blockOwnerDeletion") or api.owners is Owners.ALL) and _said(one) not in known
    ]
    found = [problem for place, one in asked if (problem := await _problem(api, user, at, place, one)) is not None]
    if found:
        raise refusals.invalid(at.resource, new["metadata"].get("name", ""), found)


def _said(reference: Object) -> tuple[object, ...]:
    """What a reference says that takes a right."""
    return (*(reference.get(name) for name in ("apiVersion", "kind", "name", "uid")), bool(reference.get("blockOwnerDeletion")))


async def _problem(api: Api, user: User, at: Target, place: int, reference: Object) -> Problem | None:
    blocks = bool(reference.get("blockOwnerDeletion"))
    path = f"metadata.ownerReferences[{place}]{'.blockOwnerDeletion' if blocks else ''}"
    version = GroupVersion.parse(str(reference.get("apiVersion")))
    kind = api.catalog.find_kind(version.group, version.version, str(reference.get("kind")))
    if kind is None:
        told = f"no kind {reference.get('kind')} of {reference.get('apiVersion')} is served, so nobody has a right to it"
        return Problem(FORBIDDEN, path, f"Forbidden: cannot be set: {told}")
    where = at.namespace or "" if kind.is_namespaced else ""
    owner = Ask("update", kind.group, kind.plural, "", where, str(reference.get("name")))
    if await api.access.allows(user, owner._replace(subresource="finalizers")):
        return None
    if await api.access.allows(user, owner) and await api.access.allows(user, owner._replace(verb="delete")):
        return None
    return Problem(FORBIDDEN, path, _told(user, owner._replace(subresource="finalizers")))


def _told(user: User, ask: Ask) -> str:
    rule = json.dumps(rules.to_object(missing.rule_for(ask)))
    return (
        f"Forbidden: cannot be set: it would hold an owner that its author may not hold: {missing.sentence(user, ask)}. "
        f'What is missing is a rule such as {rule}, or "update" and "delete" of {ask.resource}'
    )
