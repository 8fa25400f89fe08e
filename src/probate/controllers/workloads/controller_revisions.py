"""ControllerRevisions: the template history by which StatefulSets and DaemonSets tell their pods apart and roll back.

A revision holds the patch that restores the owner's template, so `kubectl rollout undo` can send it unchanged. The revision with
the highest number is the desired one: rolling back to an old revision gives it the next number.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import NamedTuple

from probate.api.objects import Object
from probate.api.selectors.label_selectors import LabelSelector
from probate.client.informers import controller_of
from probate.client.resources import is_deleting
from probate.controllers.runtime.context import Context
from probate.controllers.workloads import owner_selectors, template_hash
from probate.controllers.workloads.adoption import ControllerRefManager
from probate.controllers.workloads.owner_kinds import REVISIONS, OwnerKind, namespace_of
from probate.core import errors

HASH_LABEL = "controller.kubernetes.io/hash"
MAX_OWNER_NAME_LENGTH = 223
"""The longest prefix of the owner's name, in characters, in a revision's name; the hash needs the rest. (HIST-3)"""


class UpdateRevision(NamedTuple):
    """The revision of the desired template, and how many name collisions with other objects its owner has counted."""

    revision: Object
    collisions: int | None


class RevisionHistory:
    """The revisions of the owners of one kind."""

    def __init__(self, kind: OwnerKind, context: Context) -> None:
        self._kind = kind
        self._client = context.client
        self.revisions = context.informers.for_resource(REVISIONS)
        self._ref_manager = ControllerRefManager(kind, context.client, self.revisions)

    async def claim(self, owner: Object, selector: LabelSelector, *, release_unmatched: bool) -> list[Object]:
        """Returns the revisions of the owner, oldest first. With `release_unmatched`, revisions that do not match are released.
        (HIST-1, HIST-2)
        """
        is_match = functools.partial(owner_selectors.matches, selector)
        candidates = [revision for revision in self._ref_manager.candidates(owner) if release_unmatched or is_match(revision)]
        claimed = await self._ref_manager.claim(owner, candidates, is_match)
        return sort_revisions(revision for revision in claimed if not is_deleting(revision))

    async def ensure_revision(self, owner: Object, revisions: list[Object], *, label: str = "") -> UpdateRevision:
        """Returns the revision of the owner's template: makes an old equal revision the newest, or creates one if none is equal.

        `label` is an additional label that holds the hash.
        """
        data, collisions = revision_data(owner), (owner.get("status") or {}).get("collisionCount")
        number = revisions[-1]["revision"] + 1 if revisions else 1
        equal = [revision for revision in revisions if revision.get("data") == data]
        if equal and equal[-1] is not revisions[-1]:
            return UpdateRevision(await self.revisions.update({**equal[-1], "revision": number}), collisions)
        if equal:
            return UpdateRevision(equal[-1], collisions)
        while True:
            new = _new(self._kind, owner, label, number=number, collisions=collisions or 0)
            try:
                return UpdateRevision(await self.revisions.create(namespace_of(owner), new), collisions)
            except errors.AlreadyExists:
                existing = await self._existing_revision(owner, new)
            if existing is not None:
                return UpdateRevision(existing, collisions)
            collisions = (collisions or 0) + 1

    async def _existing_revision(self, owner: Object, new: Object) -> Object | None:
        """Returns the object that already has the new revision's name, if it is an equal revision of this owner."""
        existing = await self._client.get(REVISIONS, namespace_of(owner), new["metadata"]["name"])
        if existing is None or is_deleting(existing):
            raise errors.Conflict(f"ControllerRevision {new['metadata']['name']} is being deleted")
        is_owned = (controller_of(existing) or {}).get("uid") == owner["metadata"]["uid"]
        return existing if is_owned and existing.get("data") == new["data"] else None

    async def delete(self, revisions: Iterable[Object]) -> None:
        """Deletes the revisions."""
        for revision in revisions:
            await self.revisions.delete(revision)


def sort_revisions(revisions: Iterable[Object]) -> list[Object]:
    """Returns the revisions, oldest first."""
    return sorted(
        revisions,
        key=lambda revision: (revision["revision"], revision["metadata"]["creationTimestamp"], revision["metadata"]["name"]),
    )


def revision_data(owner: Object) -> Object:
    """Returns the patch that restores the owner's current template."""
    return {"spec": {"template": {**owner["spec"]["template"], "$patch": "replace"}}}


def template_of(revision: Object) -> Object:
    """Returns the template that the revision holds."""
    return {name: value for name, value in revision["data"]["spec"]["template"].items() if name != "$patch"}


def hash_of(revision: Object) -> str:
    """Returns the hash that ends the revision's name."""
    value: str = (revision["metadata"].get("labels") or {}).get(HASH_LABEL, "")
    return value


def _new(kind: OwnerKind, owner: Object, label: str, *, number: int, collisions: int) -> Object:
    data, meta = revision_data(owner), owner["metadata"]
    hash_value = template_hash.compute_hash(data, collisions)
    template_labels = (owner["spec"]["template"].get("metadata") or {}).get("labels") or {}
    metadata = {
        "name": f"{meta['name'][:MAX_OWNER_NAME_LENGTH]}-{hash_value}",
        "labels": {**template_labels, HASH_LABEL: hash_value, **({label: hash_value} if label else {})},
        "annotations": meta.get("annotations") or {},
        "ownerReferences": [kind.reference(owner)],
    }
    return {"metadata": metadata, "data": data, "revision": number}
