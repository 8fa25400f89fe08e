"""What of an object's metadata decides when it goes: who may change that of an object that is there.

    ownerReferences                    `delete` of the object: a reference to an owner that is gone deletes it, another may keep it
    the collector's own finalizers     `delete` too: they say what becomes of its dependents
    finalizers, through a subresource  `update` or `patch` of the object itself: they hold it

The first is what Kubernetes' plugin OwnerReferencesPermissionEnforcement asks. An object's other finalizers can be changed by who
may change the object. What a new object is given is its author's to say, apart from what it holds (`ownership`).
"""

from __future__ import annotations

from typing import Any

from probate.api import deletion
from probate.api.rbac import forbidden_message
from probate.api.rbac.users import User
from probate.server.authz import attributes
from probate.server.authz.owner_checks import Owners
from probate.server.context import Api
from probate.server.request import Target

Object = dict[str, Any]

_FIELDS = ("ownerReferences", "finalizers")
_STORED = (b'"ownerReferences"', b'"finalizers"')


def may_differ(user: User, new: Object, stored: bytes) -> bool:
    """Whether there is anything to check. (Every write is asked this.)"""
    meta = new["metadata"]
    return not user.is_master and (any(one in meta for one in _FIELDS) or any(one in stored for one in _STORED))


async def check(api: Api, user: User, at: Target, new: Object, old: Object) -> None:
    """`Forbidden`, naming the rule that is missing, if the write changes what its author may not."""
    owners, held = ([one["metadata"].get(name) or [] for one in (new, old)] for name in _FIELDS)
    if owners[0] != owners[1] and api.owners is not Owners.NONE:
        await _check_delete(api, user, at, "cannot set an ownerRef on a resource you can't delete")
    if held[0] == held[1]:
        return
    if deletion.COLLECTORS & {*held[0]} != deletion.COLLECTORS & {*held[1]}:
        await _check_delete(api, user, at, "cannot say what becomes of the dependents of a resource you can't delete")
    if at.subresource:
        await _check_change(api, user, at)


async def _check_delete(api: Api, user: User, at: Target, why: str) -> None:
    ask = attributes.about_object("delete", at)
    if not await api.access.allows(user, ask):
        raise forbidden_message.refusal(user, ask, why=why)


async def _check_change(api: Api, user: User, at: Target) -> None:
    asks = [attributes.about_object(verb, at) for verb in ("update", "patch")]
    if not any([await api.access.allows(user, ask) for ask in asks]):
        raise forbidden_message.refusal(
            user, asks[0], why=f"cannot set finalizers through {at.subresource} on a resource you can't update"
        )
