"""The ReplicaSets of a Deployment: one for each version of its template.

The new one has the template that is wanted now; all others are old. One that is being deleted still counts, for its pods are there,
but it is not changed any more: nobody would act on that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from probate.api.deletion import is_foreground
from probate.client.objects import Object
from probate.client.resources import is_deleting
from probate.controllers.workloads import template_hash as workload_template_hash

HASH = "pod-template-hash"


class Family(NamedTuple):
    """The ReplicaSets there are, the oldest first."""

    new: Object | None
    old: list[Object]

    @property
    def all(self) -> list[Object]:
        return [*self.old, *([self.new] if self.new is not None else [])]

    @property
    def living(self) -> list[Object]:
        """Those that can be changed."""
        return [one for one in self.all if not is_deleting(one)]

    @property
    def dying(self) -> list[Object]:
        """Those that are being deleted."""
        return [one for one in self.all if is_deleting(one)]

    @property
    def living_old(self) -> list[Object]:
        return [one for one in self.old if not is_deleting(one)]

    @property
    def is_awaited(self) -> bool:
        """Whether the new one is on its way out, so that there can be no other before it is gone."""
        return self.new is not None and is_deleting(self.new)

    def replace(self, changed: Object) -> Family:
        """The family with this member as it is now."""
        uid = changed["metadata"]["uid"]
        old = [changed if one["metadata"]["uid"] == uid else one for one in self.old]
        is_new = self.new is not None and self.new["metadata"]["uid"] == uid
        return Family(changed if is_new else self.new, old)


def of(deployment: Object, replica_sets: Iterable[Object]) -> Family:
    """The family of the deployment."""
    members = sorted(replica_sets, key=by_age)
    template = _plain(deployment["spec"]["template"])
    matching = [one for one in members if _plain(one["spec"]["template"]) == template]
    new = min(matching, key=is_deleting, default=None)
    return Family(new, [one for one in members if one is not new])


def is_same_template(replica_set: Object, deployment: Object) -> bool:
    """Whether the two want the same pods."""
    return _plain(replica_set["spec"]["template"]) == _plain(deployment["spec"]["template"])


def is_awaited_by(deployment: Object, replica_set: Object) -> bool:
    """Whether the deployment waits for this ReplicaSet to go before it makes one of the same template: it goes after its pods."""
    finalizers = replica_set["metadata"].get("finalizers") or []
    return is_deleting(replica_set) and is_foreground(finalizers) and is_same_template(replica_set, deployment)


def size(replica_set: Object) -> int:
    """How many pods the ReplicaSet is to have."""
    found: int = replica_set["spec"]["replicas"]
    return found


def total(replica_sets: Iterable[Object], count: str = "") -> int:
    """How many pods they are to have together; with a `count` of their status, how many they have."""
    if not count:
        return sum(size(one) for one in replica_sets)
    return sum((one.get("status") or {}).get(count) or 0 for one in replica_sets)


def by_age(object_: Object) -> tuple[str, str]:
    """Sorts the oldest first."""
    meta = object_["metadata"]
    return meta.get("creationTimestamp") or "", meta["name"]


def new_member(deployment: Object) -> Object:
    """The ReplicaSet for the template that is wanted now, without any pods."""
    spec, meta = deployment["spec"], deployment["metadata"]
    hash_ = template_hash(spec["template"], (deployment.get("status") or {}).get("collisionCount") or 0)
    described = spec["template"].get("metadata") or {}
    labels = {**(described.get("labels") or {}), HASH: hash_}
    selector = {**spec["selector"], "matchLabels": {**(spec["selector"].get("matchLabels") or {}), HASH: hash_}}
    template = {**spec["template"], "metadata": {**described, "labels": labels}}
    wanted = {"replicas": 0, "selector": selector, "template": template}
    if spec.get("minReadySeconds"):
        wanted["minReadySeconds"] = spec["minReadySeconds"]
    return {"metadata": {"name": f"{meta['name']}-{hash_}", "labels": labels}, "spec": wanted}


def template_hash(template: Object, collisions: int) -> str:
    """Ten letters that are the same for the same template, as long as nothing else of that name was in the way."""
    return workload_template_hash.of(_plain(template), collisions)


def _plain(template: Object) -> Object:
    """The template without what tells the versions apart."""
    described = template.get("metadata") or {}
    labels = {key: value for key, value in (described.get("labels") or {}).items() if key != HASH}
    return {**template, "metadata": {**described, "labels": labels}}
