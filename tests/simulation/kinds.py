"""The kinds of the simulation: plain ones, pods and their controllers, cluster-scoped ones, custom ones."""

from __future__ import annotations

from typing import Any, NamedTuple

GROUP = "sim.example.com"


class Kind(NamedTuple):
    """A kind of objects."""

    api_version: str
    kind: str
    plural: str
    is_namespaced: bool
    weight: int  # how often one is created

    @property
    def resource(self) -> str:
        """The resource as it is named in keys."""
        group = self.api_version.rpartition("/")[0]
        return f"{self.plural}.{group}" if group else self.plural

    @property
    def definition(self) -> str:
        """The key of its CRD; empty for a built-in kind."""
        is_custom = self.resource.endswith(GROUP)
        return f"objects/customresourcedefinitions.apiextensions.k8s.io/-/{self.resource}" if is_custom else ""

    def path(self, namespace: str = "", name: str = "") -> str:
        root = f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"
        inside = f"/namespaces/{namespace}" if namespace else ""
        return f"{root}{inside}/{self.plural}" + (f"/{name}" if name else "")

    def key(self, namespace: str, name: str) -> str:
        return f"objects/{self.resource}/{namespace or '-'}/{name}"


CONFIG = Kind("v1", "ConfigMap", "configmaps", True, 30)
SECRET = Kind("v1", "Secret", "secrets", True, 15)
POD = Kind("v1", "Pod", "pods", True, 8)
CONTROLLER = Kind("v1", "ReplicationController", "replicationcontrollers", True, 4)
REPLICAS = Kind("apps/v1", "ReplicaSet", "replicasets", True, 3)
DEPLOYMENT = Kind("apps/v1", "Deployment", "deployments", True, 3)
JOB = Kind("batch/v1", "Job", "jobs", True, 3)
ROLE = Kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", False, 12)
THING = Kind(f"{GROUP}/v1", "Thing", "things", True, 20)
ORB = Kind(f"{GROUP}/v1", "Orb", "orbs", False, 6)
NAMESPACE = Kind("v1", "Namespace", "namespaces", False, 5)
DEFINITION = Kind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", False, 0)

KINDS = (CONFIG, SECRET, POD, CONTROLLER, REPLICAS, DEPLOYMENT, JOB, ROLE, THING, ORB, NAMESPACE, DEFINITION)
MADE = tuple(kind for kind in KINDS if kind.weight)
CUSTOM = (THING, ORB)

_CONTAINERS = {"containers": [{"name": "c", "image": "i"}]}
_LABELS = {"a": "b"}  # of all pods, so that the controllers of pods compete


def body(kind: Kind, *, is_bound: bool) -> dict[str, Any]:
    """Returns an object of the kind without metadata."""
    template = {"metadata": {"labels": _LABELS}, "spec": _CONTAINERS}
    if kind is POD:
        return {"spec": {**_CONTAINERS, **({"nodeName": "node"} if is_bound else {})}}
    if kind is CONTROLLER:
        return {"spec": {"replicas": 2, "selector": _LABELS, "template": template}}
    if kind in (REPLICAS, DEPLOYMENT):
        return {"spec": {"replicas": 2, "selector": {"matchLabels": _LABELS}, "template": template}}
    if kind is JOB:
        return {"spec": {"completions": 2, "template": {"spec": {**_CONTAINERS, "restartPolicy": "Never"}}}}
    if kind.definition:
        # Its controller never observes the deletion: the collector must continue without it.
        return {"apiVersion": kind.api_version, "kind": kind.kind, **({"status": {"observedGeneration": 1}} if is_bound else {})}
    return {}


def definition(kind: Kind) -> dict[str, Any]:
    """Returns the CRD of a custom kind."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "metadata": {"name": kind.resource},
        "spec": {
            "group": kind.api_version.partition("/")[0],
            "scope": "Namespaced" if kind.is_namespaced else "Cluster",
            "names": {"plural": kind.plural, "kind": kind.kind},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
