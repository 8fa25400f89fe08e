"""Kinds that deletion tests use, by short name: their API path and a minimal object."""

from __future__ import annotations

from typing import Any, NamedTuple

from probate.api.objects import Object

GROUP = "conformance.example.com"


class Kind(NamedTuple):
    """A kind and where it is served."""

    version: str
    plural: str
    kind: str
    is_namespaced: bool = True

    def path(self, namespace: str = "", name: str = "") -> str:
        """Returns the path of an object or, without a name, of a collection."""
        parts = ["/api" if self.version == "v1" else "/apis", self.version]
        if self.is_namespaced and namespace:
            parts += ["namespaces", namespace]
        return "/".join([*parts, self.plural, *([name] if name else [])])


KINDS = {
    "cm": Kind("v1", "configmaps", "ConfigMap"),
    "secret": Kind("v1", "secrets", "Secret"),
    "sa": Kind("v1", "serviceaccounts", "ServiceAccount"),
    "svc": Kind("v1", "services", "Service"),
    "event": Kind("v1", "events", "Event"),
    "pod": Kind("v1", "pods", "Pod"),
    "rc": Kind("v1", "replicationcontrollers", "ReplicationController"),
    "rs": Kind("apps/v1", "replicasets", "ReplicaSet"),
    "deploy": Kind("apps/v1", "deployments", "Deployment"),
    "job": Kind("batch/v1", "jobs", "Job"),
    "pc": Kind("scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", is_namespaced=False),
    "crole": Kind("rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole", is_namespaced=False),
    "widget": Kind(f"{GROUP}/v1", "widgets", "Widget"),
    "plot": Kind(f"{GROUP}/v1", "plots", "Plot", is_namespaced=False),
}

CUSTOM = ("widget", "plot")


def body(short: str, *, label: str = "x", replicas: int = 0, node: str = "", grace: int = 30) -> Object:
    """Returns everything of a minimal object except its metadata."""
    pod = {"containers": [{"name": "c", "image": "none.invalid/x"}], "terminationGracePeriodSeconds": grace}
    template = {"metadata": {"labels": {"app": label}}, "spec": pod}
    replicated = {"replicas": replicas, "template": template}
    bodies: dict[str, Object] = {
        "svc": {"spec": {"selector": {"app": label}, "ports": [{"port": 80}]}},
        "pod": {"spec": {**pod, **({"nodeName": node} if node else {})}},
        "rc": {"spec": {**replicated, "selector": {"app": label}}},
        "rs": {"spec": {**replicated, "selector": {"matchLabels": {"app": label}}}},
        "deploy": {"spec": {**replicated, "selector": {"matchLabels": {"app": label}}}},
        "job": {
            "spec": {
                "parallelism": replicas or 1,
                "completions": replicas or 1,
                "template": {"spec": {**pod, "restartPolicy": "Never"}},
            }
        },
        "pc": {"value": 7},
        "crole": {"rules": []},
    }
    if short in CUSTOM:
        return {"apiVersion": KINDS[short].version, "kind": KINDS[short].kind, "spec": {"size": 1}}
    return bodies.get(short, {})


def definition(short: str) -> Object:
    """Returns the CRD of a custom kind."""
    kind = KINDS[short]
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced" if kind.is_namespaced else "Cluster",
            "names": {"plural": kind.plural, "singular": kind.kind.lower(), "kind": kind.kind},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


async def define(server: Any) -> None:
    """Creates the CRDs of the custom kinds."""
    for short in CUSTOM:
        response = await server.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition(short))
        assert response.code == 201, response
