"""Warns about owner references that do not do what they seem to, or rejects them, when an object is written.

Kubernetes' API accepts owner references to anything, and the collector acts on them a moment later. So a write that refers to an
owner that does not exist, is in another namespace, or has another uid gets a warning at once, or a rejection if `--owner-checks
refuse` is set. The message says what will happen to the object.

Warnings never reveal objects that the user may not read. The server's own controllers get none: they read what they refer to.
"""

from __future__ import annotations

from enum import Enum

from probate.api.catalog import Resource
from probate.api.field_errors import INVALID, FieldError
from probate.api.gvk import GroupVersion
from probate.api.object_keys import NO_KEY
from probate.api.objects import Object
from probate.api.ownership import Item, ObjectMeta, OwnerReference, OwnerState, Uid
from probate.api.rbac.policy_rules import ResourceAttributes
from probate.api.rbac.users import User
from probate.core import errors
from probate.server import api_errors
from probate.server.admission.admission_attributes import WriteRequest
from probate.server.authz.authorizer import Authorizer
from probate.server.authz.block_owner_deletion import CONTROLLERS
from probate.server.kind_rules.contract import ServedKinds
from probate.server.ownership import metadata_view, owner_lookup
from probate.server.request import Target
from probate.store.contract import Record, Store

MAX_REFERENCES = 20
"""References of one write that are checked."""
MAX_CLIMB = 20
"""Owners that are followed upwards to find an ownership cycle."""


class CheckMode(Enum):
    """What happens to a write with owner references that cannot work. The values are those of the setting."""

    OFF = "off"
    WARN = "warn"
    REFUSE = "refuse"


class OwnerReferenceWarnings:
    """The check of new owner references. `mode`: what happens to a write whose references cannot work."""

    def __init__(self, authorizer: Authorizer, kinds: ServedKinds, store: Store, *, mode: CheckMode) -> None:
        self._authorizer = authorizer
        self._kinds = kinds
        self._store = store
        self.mode = mode

    async def check(self, act: WriteRequest, target: Target, *, new: Object, old: Object | None) -> None:
        """Adds a warning to `act` for each new reference with a problem, or raises `Invalid`."""
        if self.mode is CheckMode.OFF or act.user.name.startswith(CONTROLLERS):
            return
        before = (old or {}).get("metadata", {})
        known_references, uid = before.get("ownerReferences") or [], before.get("uid", "")
        references = list(enumerate(new["metadata"].get("ownerReferences") or []))[:MAX_REFERENCES]
        found = [
            (index, problem)
            for index, reference in references
            if reference not in known_references and (problem := await self._problem(act.user, target, _owner(reference), uid=uid))
        ]
        if found and self.mode is CheckMode.REFUSE:
            problems = [
                FieldError(INVALID, f"metadata.ownerReferences[{index}]", f"Invalid value: {problem}") for index, problem in found
            ]
            raise api_errors.invalid(target.resource, new["metadata"].get("name", ""), problems)
        act.warn(*(f"metadata.ownerReferences[{index}]: {problem}" for index, problem in found))

    async def _problem(self, user: User, target: Target, owner: OwnerReference, *, uid: str) -> str:
        """Returns the problem of a reference. Empty if there is none, or if this user may not know it. A new object has no uid."""
        kind = self._kind(owner)
        if kind is None:
            return f"no kind {owner.kind} of {owner.api_version} is served: until it is, this object is not collected"
        item = Item(NO_KEY, 0, ObjectMeta(target.name, target.namespace or "", Uid(uid)))
        if kind.is_namespaced and not target.namespace:
            return f"{owner} is namespaced, and cannot own a cluster-scoped object: this object is not collected"
        if not await self._authorizer.allows(user, _get_attributes(kind, target, owner)):
            return ""
        key = metadata_view.owner_key(item, owner, kind)
        try:
            found = await self._store.read(key) if key else None
        except errors.DamagedObject:
            return f"the stored data of {owner} is damaged: the collector keeps this object until that owner is removed"
        state = metadata_view.owner_state(item, owner, kind, found=None if found is None else metadata_view.item_of(found))
        if state.state is OwnerState.DANGLING:
            return await self._missing_owner_problem(user, item, owner, kind=kind, found=found)
        if state.state is OwnerState.WAITING:
            return f"{owner} is being deleted, and waits for its dependents: this object is deleted with it"
        return await self._cycle_problem(user, target, item=item, owner_item=state.item) if state.item is not None and uid else ""

    async def _missing_owner_problem(
        self, user: User, item: Item, owner: OwnerReference, *, kind: Resource, found: Record | None
    ) -> str:
        consequence = "if it has no other owner, this object is deleted in a moment"
        if found is not None:
            return f"{owner.kind} {owner.name} has another uid than {owner.uid}: {consequence}"
        may_search = kind.is_namespaced and await self._authorizer.allows(
            user, ResourceAttributes("get", kind.group, kind.plural, "", "", owner.name)
        )
        if may_search and (await owner_lookup.are_in_other_namespaces(self._store, lambda _: kind, [(item, owner)]))[0]:
            return f"{owner} is in another namespace, and cannot own an object in this one: {consequence}"
        return f"there is no {owner}: {consequence}"

    async def _cycle_problem(self, user: User, target: Target, *, item: Item, owner_item: Item) -> str:
        """Returns the problem if the object owns its owner. Follows the first owner of each level, if the user may read it."""
        ancestor = owner_item
        for _ in range(MAX_CLIMB):
            if ancestor.meta.uid == item.meta.uid:
                return f"{owner_item.meta.name} and this object own each other: neither is collected before one of them is deleted"
            parents = [
                parent for parent in ancestor.meta.owner_references if parent.uid == item.meta.uid
            ] or ancestor.meta.owner_references[:1]
            if not parents:
                return ""
            kind = self._kind(parents[0])
            if kind is None or not await self._authorizer.allows(user, _get_attributes(kind, target, parents[0])):
                return ""
            key = metadata_view.owner_key(ancestor, parents[0], kind)
            [record] = await self._store.read_many([key]) if key else [None]
            if not isinstance(record, Record):
                return ""
            ancestor = metadata_view.item_of(record)
        return ""

    def _kind(self, owner: OwnerReference) -> Resource | None:
        version = GroupVersion.parse(owner.api_version)
        return self._kinds.catalog.find_kind(version.group, version.version, owner.kind)


def _get_attributes(kind: Resource, target: Target, owner: OwnerReference) -> ResourceAttributes:
    return ResourceAttributes(
        "get", kind.group, kind.plural, "", (target.namespace or "") if kind.is_namespaced else "", owner.name
    )


def _owner(reference: Object) -> OwnerReference:
    fields = {name: str(reference.get(name) or "") for name in ("apiVersion", "kind", "name", "uid")}
    return OwnerReference(
        fields["apiVersion"], fields["kind"], fields["name"], Uid(fields["uid"]), bool(reference.get("blockOwnerDeletion"))
    )
