"""Versions of a template, kept as ControllerRevisions: by them StatefulSets and DaemonSets tell their pods apart, and go back.

A revision holds the change that makes the owner's template what it was, so that `kubectl rollout undo` can send it as it is. The
one with the highest number is the one wanted now: going back to an old one gives it the next number.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import NamedTuple

from probate.api.selectors.label_selectors import LabelSelector
from probate.client.informers import controller_of
from probate.client.objects import Object
from probate.client.resources import is_deleting
from probate.controllers.runtime.context import Means
from probate.controllers.workloads import owner_selectors, template_hash
from probate.controllers.workloads.adoption import Claims
from probate.controllers.workloads.owner_kinds import REVISIONS, OwnerKind, namespace_of
from probate.core import errors

HASH = "controller.kubernetes.io/hash"
LONGEST_NAME = 223
"""Characters of the owner's name in a revision's: the rest is for the hash. (HIST-3)"""


class Version(NamedTuple):
    """The revision of the template that is wanted, and how many names for it were taken by others."""

    revision: Object
    collisions: int | None


class History:
    """The revisions of the owners of one kind."""

    def __init__(self, kind: OwnerKind, means: Means) -> None:
        self._kind = kind
        self._client = means.client
        self.revisions = means.informers.of(REVISIONS)
        self._claims = Claims(kind, means.client, self.revisions)

    async def claim(self, owner: Object, selector: LabelSelector, *, releases: bool) -> list[Object]:
        """The revisions of the owner, the oldest first. Those that do not match are let go, if it `releases`. (HIST-1, HIST-2)"""
        is_match = functools.partial(owner_selectors.matches, selector)
        candidates = [one for one in self._claims.candidates(owner) if releases or is_match(one)]
        ours = await self._claims.claim(owner, candidates, is_match)
        return in_order(one for one in ours if not is_deleting(one))

    async def have(self, owner: Object, known: list[Object], *, label: str = "") -> Version:
        """The revision of the owner's template: an old one becomes the newest, and where there is none it is made.

        `label` is another one that is to hold the hash.
        """
        data, collisions = data_of(owner), (owner.get("status") or {}).get("collisionCount")
        number = known[-1]["revision"] + 1 if known else 1
        equal = [one for one in known if one.get("data") == data]
        if equal and equal[-1] is not known[-1]:
            return Version(await self.revisions.update({**equal[-1], "revision": number}), collisions)
        if equal:
            return Version(equal[-1], collisions)
        while True:
            new = _new(self._kind, owner, label, number, collisions or 0)
            try:
                return Version(await self.revisions.create(namespace_of(owner), new), collisions)
            except errors.AlreadyExists:
                met = await self._met(owner, new)
            if met is not None:
                return Version(met, collisions)
            collisions = (collisions or 0) + 1

    async def _met(self, owner: Object, new: Object) -> Object | None:
        """What has that name already, if it is what we wanted."""
        there = await self._client.get(REVISIONS, namespace_of(owner), new["metadata"]["name"])
        if there is None or is_deleting(there):
            raise errors.Conflict(f"the revision {new['metadata']['name']} is on its way out")
        is_ours = (controller_of(there) or {}).get("uid") == owner["metadata"]["uid"]
        return there if is_ours and there.get("data") == new["data"] else None

    async def forget(self, doomed: Iterable[Object]) -> None:
        """Delete these revisions."""
        for one in doomed:
            await self.revisions.delete(one)


def in_order(revisions: Iterable[Object]) -> list[Object]:
    """The revisions, the oldest first."""
    return sorted(revisions, key=lambda one: (one["revision"], one["metadata"]["creationTimestamp"], one["metadata"]["name"]))


def data_of(owner: Object) -> Object:
    """The change that makes the owner's template what it is now."""
    return {"spec": {"template": {**owner["spec"]["template"], "$patch": "replace"}}}


def template_of(revision: Object) -> Object:
    """The template that the revision holds."""
    return {name: value for name, value in revision["data"]["spec"]["template"].items() if name != "$patch"}


def hash_of(revision: Object) -> str:
    """The letters that the revision's name ends in."""
    found: str = (revision["metadata"].get("labels") or {}).get(HASH, "")
    return found


def _new(kind: OwnerKind, owner: Object, label: str, number: int, collisions: int) -> Object:
    data, meta = data_of(owner), owner["metadata"]
    hash_ = template_hash.of(data, collisions)
    described = (owner["spec"]["template"].get("metadata") or {}).get("labels") or {}
    made = {
        "name": f"{meta['name'][:LONGEST_NAME]}-{hash_}",
        "labels": {**described, HASH: hash_, **({label: hash_} if label else {})},
        "annotations": meta.get("annotations") or {},
        "ownerReferences": [kind.reference(owner)],
    }
    return {"metadata": made, "data": data, "revision": number}
