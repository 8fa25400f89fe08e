"""Authorizes changes to the metadata that decides when an existing object is deleted.

    ownerReferences                    `delete` of the object: a reference to a missing owner deletes it, another one may keep it
    the collector's own finalizers     `delete` too: they decide whether its dependents are deleted or orphaned
    finalizers, through a subresource  `update` or `patch` of the object itself: they block its removal

The first is what Kubernetes' admission plugin OwnerReferencesPermissionEnforcement checks. The other finalizers of an object can be
changed by any user who may change the object. A new object's metadata is its author's choice, except for what it blocks
(`block_owner_deletion`).
"""

from __future__ import annotations

from probate.api import deletion
from probate.api.objects import Object
from probate.api.rbac import forbidden_message
from probate.api.rbac.users import User
from probate.server.authz import authorization_attributes
from probate.server.authz.authorizer import Authorizer
from probate.server.authz.owner_checks import OwnerChecks
from probate.server.request import Target

_FIELDS = ("ownerReferences", "finalizers")
_STORED_FIELDS = (b'"ownerReferences"', b'"finalizers"')


def may_differ(user: User, new: Object, stored: bytes) -> bool:
    """Returns whether there may be anything to check. Fast path: called with every write, before the stored object is decoded."""
    meta = new["metadata"]
    return not user.is_superuser and (any(field in meta for field in _FIELDS) or any(field in stored for field in _STORED_FIELDS))


class OwnerReferencePermissions:
    """The check of changed owner references and finalizers. `mode`: whether owner references take rights."""

    def __init__(self, authorizer: Authorizer, mode: OwnerChecks) -> None:
        self._authorizer = authorizer
        self.mode = mode

    async def check(self, user: User, at: Target, *, new: Object, old: Object) -> None:
        """Raises `Forbidden`, naming the missing rule, if the write changes what its author may not."""
        owners, finalizers = ([object_["metadata"].get(name) or [] for object_ in (new, old)] for name in _FIELDS)
        if owners[0] != owners[1] and self.mode is not OwnerChecks.NONE:
            await self._check_delete(user, at, "cannot set an ownerRef on a resource you can't delete")
        if finalizers[0] == finalizers[1]:
            return
        if deletion.COLLECTOR_FINALIZERS & {*finalizers[0]} != deletion.COLLECTOR_FINALIZERS & {*finalizers[1]}:
            await self._check_delete(
                user, at, "cannot change the orphan or foregroundDeletion finalizer of a resource you can't delete"
            )
        if at.subresource:
            await self._check_change(user, at)

    async def _check_delete(self, user: User, at: Target, why: str) -> None:
        ask = authorization_attributes.for_object("delete", at)
        if not await self._authorizer.allows(user, ask):
            raise forbidden_message.forbidden_error(user, ask, purpose=why)

    async def _check_change(self, user: User, at: Target) -> None:
        asks = [authorization_attributes.for_object(verb, at) for verb in ("update", "patch")]
        if not any([await self._authorizer.allows(user, ask) for ask in asks]):
            raise forbidden_message.forbidden_error(
                user, asks[0], purpose=f"cannot set finalizers through {at.subresource} on a resource you can't update"
            )
