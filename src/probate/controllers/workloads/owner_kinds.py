"""The kinds that own what they make, and the reference by which they do."""

from __future__ import annotations

from typing import NamedTuple

from probate.client.informers import Informer, Name, name_of
from probate.client.objects import Kind, Object
from probate.controllers.runtime.event_recorder import Events, Voice

PODS = Kind("", "v1", "pods")
REVISIONS = Kind("apps", "v1", "controllerrevisions")


class OwnerKind(NamedTuple):
    """A kind of owner: where its objects are, and what references call it."""

    resource: Kind
    name: str

    def reference(self, owner: Object) -> Object:
        """What a dependent says of its controller: the owner waits for it when it is deleted in the foreground."""
        meta = owner["metadata"]
        return {
            "apiVersion": self.resource.api_version,
            "kind": self.name,
            "name": meta["name"],
            "uid": meta["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }

    def voice(self, events: Events, component: str) -> Voice:
        """How a controller tells people about owners of this kind."""
        return Voice(events, component, self.resource.api_version, self.name)

    def is_meant_by(self, reference: Object) -> bool:
        """Whether the reference is to an owner of this kind, in whatever version."""
        return reference["kind"] == self.name and _group(reference["apiVersion"]) == self.resource.group

    def find(self, owners: Informer, namespace: str, reference: Object) -> Object | None:
        """The owner that a dependent in this namespace refers to, if it is there: this very one, not another of its name."""
        if not self.is_meant_by(reference):
            return None
        found = owners.get(Name(namespace, reference["name"]))
        return found if found is not None and found["metadata"]["uid"] == reference["uid"] else None


REPLICATION_CONTROLLER = OwnerKind(Kind("", "v1", "replicationcontrollers"), "ReplicationController")
REPLICA_SET = OwnerKind(Kind("apps", "v1", "replicasets"), "ReplicaSet")
DEPLOYMENT = OwnerKind(Kind("apps", "v1", "deployments"), "Deployment")
STATEFUL_SET = OwnerKind(Kind("apps", "v1", "statefulsets"), "StatefulSet")
DAEMON_SET = OwnerKind(Kind("apps", "v1", "daemonsets"), "DaemonSet")
CRON_JOB = OwnerKind(Kind("batch", "v1", "cronjobs"), "CronJob")
JOB = OwnerKind(Kind("batch", "v1", "jobs"), "Job")


def namespace_of(object_: Object) -> str:
    """Where the object is."""
    return name_of(object_).namespace


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]
