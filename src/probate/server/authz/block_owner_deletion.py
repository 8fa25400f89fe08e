"""Authorizes `blockOwnerDeletion` and references to owners that orphan: both keep an owner from being removed.

Setting `blockOwnerDeletion: true` takes the rights that blocking the owner directly would take: `update` of its `finalizers`
subresource, or `update` and `delete` of the owner itself. With `OwnerChecks.ALL` every reference to an owner takes them. References
that existed before the write are not checked. Only members of `system:masters` may refer to a kind that is not served,
since no right to it can be determined.

An owner that orphans its dependents is removed once nothing refers to it. New references would block it forever, so from its
deletion on they take the same rights. References count by uid, so this also applies to a reference that has the owner's uid under
another name, kind or scope. A reference from another namespace does not count, and takes no right.

The right is checked for the owner that the reference names, but the owner that it blocks is found by uid. So name and uid must
belong to one object, or the right to one owner would allow blocking another. That is checked only for users who have the right, so
that others learn nothing about which objects exist.

No role of a tenant gives the right to block what the platform shares with tenants: a node that is deleted would wait for a tenant.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import TypeAlias

from probate.api import object_keys
from probate.api.catalog import Resource
from probate.api.field_errors import FORBIDDEN, FieldError
from probate.api.gvk import GroupResource, GroupVersion
from probate.api.object_keys import NO_KEY
from probate.api.objects import Object
from probate.api.ownership import Item, ObjectMeta, OwnerReference, Uid
from probate.api.rbac import forbidden_message, policy_rules
from probate.api.rbac.policy_rules import ResourceAttributes
from probate.api.rbac.users import User
from probate.server import api_errors
from probate.server.authz.authorizer import Authorizer
from probate.server.authz.owner_checks import OwnerChecks
from probate.server.kind_rules.contract import ServedKinds
from probate.server.ownership import metadata_view
from probate.server.request import Target
from probate.server.storage import index_entries
from probate.store.contract import Store

REFERENCES_PER_TURN = 100
"""References that are checked before other requests get the event loop."""
CONTROLLERS = "system:serviceaccount:kube-system:"
"""The server's own controllers. They refer to owners that they have just read, and that may be gone by then. No tenant has any: its
service accounts could block objects of the platform whose uids it sees."""
IsOfPlatform: TypeAlias = Callable[[GroupResource, str], bool]
"""Returns whether a cluster-scoped object is one that the platform shares with the tenant whose view this is."""


class BlockOwnerDeletion:
    """The check of new references to owners. `mode` says which references take rights."""

    def __init__(
        self, authorizer: Authorizer, kinds: ServedKinds, store: Store, *, mode: OwnerChecks, is_of_platform: IsOfPlatform
    ) -> None:
        self._authorizer = authorizer
        self._kinds = kinds
        self._store = store
        self._is_shared = is_of_platform
        self.mode = mode

    async def check(self, user: User, at: Target, *, new: Object, old: Object | None) -> None:
        """Raises `Invalid`, naming the missing rule, if the write adds references to owners that its author may not block."""
        references = new["metadata"].get("ownerReferences")
        if not references or user.is_superuser or self.mode is OwnerChecks.NONE:
            return
        existing = {_identity(reference) for reference in (old or {}).get("metadata", {}).get("ownerReferences") or ()}
        problems = []
        for index, reference in enumerate(references):
            if _identity(reference) not in existing and (why := await self._objection_to(user, at, reference)):
                problems.append(FieldError(FORBIDDEN, _path(index, reference), f"Forbidden: cannot be set: {why}"))
            if index % REFERENCES_PER_TURN == REFERENCES_PER_TURN - 1:
                await asyncio.sleep(0)
        if problems:
            raise api_errors.invalid(at.resource, new["metadata"].get("name", ""), problems)

    async def _objection_to(self, user: User, at: Target, reference: Object) -> str:
        """Returns why the user may not add the reference, or an empty string."""
        blocks, owner = bool(reference.get("blockOwnerDeletion")), _owner(reference)
        version = GroupVersion.parse(owner.api_version)
        kind = self._kinds.catalog.find_kind(version.group, version.version, owner.kind)
        if kind is None and (blocks or self.mode is OwnerChecks.ALL):
            return f"no kind {owner.kind} of {owner.api_version} is served, so no role can grant the right to block it"
        if kind is None:
            return await self._objection_to_uid(user, at, owner)
        ask = ResourceAttributes(
            "update", kind.group, kind.plural, "", at.namespace or "" if kind.is_namespaced else "", owner.name
        )
        if (blocks or self.mode is OwnerChecks.ALL) and not await self._may_block(user, ask):
            return self._denial_message(user, ask)
        if _is_controller(user):
            return ""
        owner_item = await self._find_owner(at, owner, kind)
        if owner_item is None and blocks:
            return f"there is no {kind.kind} {owner.name} with the uid {owner.uid}, so it cannot be blocked"
        if owner_item is None:
            return await self._objection_to_uid(user, at, owner)
        return _orphaning_message(owner) if owner_item.is_orphaning and not await self._may_block(user, ask) else ""

    async def _objection_to_uid(self, user: User, at: Target, owner: OwnerReference) -> str:
        """Returns why a reference to no existing object is refused: it has the uid of an owner that orphans its dependents."""
        if not index_entries.is_valid_uid(owner.uid) or _is_controller(user):
            return ""
        page = await self._store.scan(index_entries.orphaning_range(owner.uid), limit=1)
        if not page.records:
            return ""
        resource, namespace, name = object_keys.parse(index_entries.object_key_of(page.records[0].key))
        if namespace not in {"", at.namespace or ""}:
            return ""
        plural, _, group = resource.partition(".")
        return (
            ""
            if await self._may_block(user, ResourceAttributes("update", group, plural, "", namespace, name))
            else _orphaning_message(owner)
        )

    async def _may_block(self, user: User, owner: ResourceAttributes) -> bool:
        if self._is_of_platform(owner):
            return False
        if await self._authorizer.allows(user, owner._replace(subresource="finalizers")):
            return True
        return await self._authorizer.allows(user, owner) and await self._authorizer.allows(user, owner._replace(verb="delete"))

    def _is_of_platform(self, owner: ResourceAttributes) -> bool:
        return not owner.namespace and self._is_shared(GroupResource(owner.group, owner.resource), owner.name)

    def _denial_message(self, user: User, owner: ResourceAttributes) -> str:
        if self._is_of_platform(owner):
            return f"{owner.resource} {owner.name} belongs to the platform, which shares it with tenants: a tenant cannot block it"
        return _permission_message(user, owner._replace(subresource="finalizers"))

    async def _find_owner(self, at: Target, owner: OwnerReference, kind: Resource) -> Item | None:
        """Returns the owner if the object with the reference's name also has its uid."""
        key = metadata_view.owner_key(Item(NO_KEY, 0, ObjectMeta(at.name, at.namespace or "")), owner, kind)
        record = await self._store.read(key) if key else None
        item = None if record is None else metadata_view.item_of(record)
        return item if item is not None and item.meta.uid == owner.uid else None


def _is_controller(user: User) -> bool:
    return user.name.startswith(CONTROLLERS) and not user.tenant


def _identity(reference: Object) -> tuple[object, ...]:
    """Returns the parts of a reference that take a right."""
    return (*(reference.get(name) for name in ("apiVersion", "kind", "name", "uid")), bool(reference.get("blockOwnerDeletion")))


def _path(index: int, reference: Object) -> str:
    return f"metadata.ownerReferences[{index}]{'.blockOwnerDeletion' if reference.get('blockOwnerDeletion') else ''}"


def _orphaning_message(owner: OwnerReference) -> str:
    return f"{owner} is being deleted and orphans its dependents, so no new reference to it is allowed"


def _owner(reference: Object) -> OwnerReference:
    version, kind, name, uid = (str(reference.get(field) or "") for field in ("apiVersion", "kind", "name", "uid"))
    return OwnerReference(version, kind, name, Uid(uid))


def _permission_message(user: User, ask: ResourceAttributes) -> str:
    rule = json.dumps(policy_rules.rule_to_object(forbidden_message.missing_rule(ask)))
    return (
        f"it would block the deletion of an owner that its author may not block: {forbidden_message.denial_message(user, ask)}. "
        f'What is missing is a rule such as {rule}, or "update" and "delete" of {ask.resource}'
    )
