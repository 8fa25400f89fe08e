"""The ReplicaSets of a Deployment: one for each version of its template.

The new one has the desired template; all others are old. One that is being deleted still counts, because its pods exist, but it is
not changed any more: its controller would not act on the change.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from probate.api.deletion import is_foreground
from probate.api.objects import Object
from probate.client.resources import is_deleting
from probate.controllers.workloads import template_hash as workload_template_hash

POD_TEMPLATE_HASH = "pod-template-hash"


class ReplicaSets(NamedTuple):
    """The ReplicaSets of a Deployment, the old ones sorted by age, oldest first."""

    new: Object | None
    old: list[Object]

    @property
    def all(self) -> list[Object]:
        return [*self.old, *([self.new] if self.new is not None else [])]

    @property
    def not_deleting(self) -> list[Object]:
        """Returns those that can be changed."""
        return [replica_set for replica_set in self.all if not is_deleting(replica_set)]

    @property
    def deleting(self) -> list[Object]:
        """Returns those that are being deleted."""
        return [replica_set for replica_set in self.all if is_deleting(replica_set)]

    @property
    def old_not_deleting(self) -> list[Object]:
        return [replica_set for replica_set in self.old if not is_deleting(replica_set)]

    @property
    def is_new_deleting(self) -> bool:
        """Returns whether the new one is being deleted: its replacement can be created only after it is gone."""
        return self.new is not None and is_deleting(self.new)

    def replace(self, updated: Object) -> ReplicaSets:
        """Returns the ReplicaSets with this updated member."""
        uid = updated["metadata"]["uid"]
        old = [updated if replica_set["metadata"]["uid"] == uid else replica_set for replica_set in self.old]
        is_new = self.new is not None and self.new["metadata"]["uid"] == uid
        return ReplicaSets(updated if is_new else self.new, old)


def classify(deployment: Object, replica_sets: Iterable[Object]) -> ReplicaSets:
    """Returns the ReplicaSets of the Deployment, divided into the new one and the old ones."""
    sorted_sets = sorted(replica_sets, key=age_key)
    template = _without_hash(deployment["spec"]["template"])
    matching = [replica_set for replica_set in sorted_sets if _without_hash(replica_set["spec"]["template"]) == template]
    new = min(matching, key=is_deleting, default=None)
    return ReplicaSets(new, [replica_set for replica_set in sorted_sets if replica_set is not new])


def is_same_template(replica_set: Object, deployment: Object) -> bool:
    """Returns whether the two have the same template."""
    return _without_hash(replica_set["spec"]["template"]) == _without_hash(deployment["spec"]["template"])


def should_adopt_deleting(deployment: Object, replica_set: Object) -> bool:
    """Returns whether the Deployment adopts this ReplicaSet although it is being deleted: it has the desired template and is in
    foreground deletion, so it exists until its pods are gone, and the Deployment waits for it before it creates its replacement.
    """
    finalizers = replica_set["metadata"].get("finalizers") or []
    return is_deleting(replica_set) and is_foreground(finalizers) and is_same_template(replica_set, deployment)


def desired_replicas(replica_set: Object) -> int:
    """Returns how many pods the ReplicaSet should have."""
    replicas: int = replica_set["spec"]["replicas"]
    return replicas


def total(replica_sets: Iterable[Object], count: str = "") -> int:
    """Returns how many pods the ReplicaSets should have together; with `count`, the sum of that status field."""
    if not count:
        return sum(desired_replicas(replica_set) for replica_set in replica_sets)
    return sum((replica_set.get("status") or {}).get(count) or 0 for replica_set in replica_sets)


def age_key(object_: Object) -> tuple[str, str]:
    """Returns a sort key, oldest first."""
    meta = object_["metadata"]
    return meta.get("creationTimestamp") or "", meta["name"]


def new_replica_set(deployment: Object) -> Object:
    """Returns a ReplicaSet for the desired template, with no pods."""
    spec, meta = deployment["spec"], deployment["metadata"]
    hash_value = template_hash(spec["template"], (deployment.get("status") or {}).get("collisionCount") or 0)
    template_metadata = spec["template"].get("metadata") or {}
    labels = {**(template_metadata.get("labels") or {}), POD_TEMPLATE_HASH: hash_value}
    selector = {**spec["selector"], "matchLabels": {**(spec["selector"].get("matchLabels") or {}), POD_TEMPLATE_HASH: hash_value}}
    template = {**spec["template"], "metadata": {**template_metadata, "labels": labels}}
    replica_set_spec = {"replicas": 0, "selector": selector, "template": template}
    if spec.get("minReadySeconds"):
        replica_set_spec["minReadySeconds"] = spec["minReadySeconds"]
    return {"metadata": {"name": f"{meta['name']}-{hash_value}", "labels": labels}, "spec": replica_set_spec}


def template_hash(template: Object, collisions: int) -> str:
    """Returns ten letters that are equal for equal templates; the collision count changes them."""
    return workload_template_hash.compute_hash(_without_hash(template), collisions)


def _without_hash(template: Object) -> Object:
    """Returns the template without the hash label."""
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != POD_TEMPLATE_HASH}
    return {**template, "metadata": {**metadata, "labels": labels}}
