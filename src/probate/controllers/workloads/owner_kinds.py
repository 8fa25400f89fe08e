"""The kinds whose controllers create dependents, and the owner references that they set."""

from __future__ import annotations

from typing import NamedTuple

from probate.api.objects import Object
from probate.client.informers import Informer, NamespacedName, name_of
from probate.client.objects import GroupVersionResource
from probate.controllers.runtime.event_recorder import EventRecorder, ObjectEventRecorder

PODS = GroupVersionResource("", "v1", "pods")
REVISIONS = GroupVersionResource("apps", "v1", "controllerrevisions")


class OwnerKind(NamedTuple):
    """A kind of owner: its REST resource, and its name in owner references."""

    resource: GroupVersionResource
    name: str

    def reference(self, owner: Object) -> Object:
        """Returns the controller reference of a dependent. It blocks foreground deletion of the owner."""
        meta = owner["metadata"]
        return {
            "apiVersion": self.resource.api_version,
            "kind": self.name,
            "name": meta["name"],
            "uid": meta["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }

    def event_recorder(self, events: EventRecorder, component: str) -> ObjectEventRecorder:
        """Returns the function by which a controller records events about owners of this kind."""
        return ObjectEventRecorder(events, component, api_version=self.resource.api_version, kind=self.name)

    def is_referenced_by(self, reference: Object) -> bool:
        """Returns whether the reference points to this kind, in any version of its group."""
        return reference["kind"] == self.name and _group(reference["apiVersion"]) == self.resource.group

    def find(self, owners: Informer, namespace: str, reference: Object) -> Object | None:
        """Returns the owner that a dependent in this namespace refers to, or None. The uid must match: another object of the same
        name is not the owner.
        """
        if not self.is_referenced_by(reference):
            return None
        owner = owners.get(NamespacedName(namespace, reference["name"]))
        return owner if owner is not None and owner["metadata"]["uid"] == reference["uid"] else None


REPLICATION_CONTROLLER = OwnerKind(GroupVersionResource("", "v1", "replicationcontrollers"), "ReplicationController")
REPLICA_SET = OwnerKind(GroupVersionResource("apps", "v1", "replicasets"), "ReplicaSet")
DEPLOYMENT = OwnerKind(GroupVersionResource("apps", "v1", "deployments"), "Deployment")
STATEFUL_SET = OwnerKind(GroupVersionResource("apps", "v1", "statefulsets"), "StatefulSet")
DAEMON_SET = OwnerKind(GroupVersionResource("apps", "v1", "daemonsets"), "DaemonSet")
CRON_JOB = OwnerKind(GroupVersionResource("batch", "v1", "cronjobs"), "CronJob")
JOB = OwnerKind(GroupVersionResource("batch", "v1", "jobs"), "Job")


def namespace_of(object_: Object) -> str:
    """Returns the namespace of the object."""
    return name_of(object_).namespace


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]
