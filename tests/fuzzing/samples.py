"""Objects that are in order, to be spoiled: a few kinds with maps, lists by key, sets, defaults, and a status apart."""

from __future__ import annotations

from typing import Any, NamedTuple


class Sample(NamedTuple):
    """An object that is in order, and where objects of its kind are."""

    path: str
    body: dict[str, Any]


_LABELS = {"app": "a"}
_CONTAINER = {
    "name": "c",
    "image": "one",
    "ports": [{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 80, "protocol": "UDP"}],
    "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "k"}}}],
    "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}},
}
_POD: dict[str, Any] = {
    "containers": [_CONTAINER, {"name": "d", "image": "two"}],
    "volumes": [{"name": "v", "configMap": {"name": "a", "items": [{"key": "k", "path": "p"}]}}],
    "tolerations": [{"key": "a", "operator": "Exists"}],
}


def _sample(version: str, kind: str, plural: str, **fields: Any) -> Sample:
    prefix = f"/apis/{version}" if "/" in version else f"/api/{version}"
    meta = {"name": "a", "labels": {"app": "a"}, "annotations": {"note": "x"}, "finalizers": []}
    return Sample(f"{prefix}/namespaces/default/{plural}", {"apiVersion": version, "kind": kind, "metadata": meta, **fields})


SAMPLES = (
    _sample("v1", "ConfigMap", "configmaps", data={"k": "v", "l": "w"}, binaryData={"b": "AA=="}),
    _sample("v1", "Secret", "secrets", data={"k": "dg=="}, type="Opaque"),
    _sample("v1", "Pod", "pods", spec=_POD),
    _sample(
        *("v1", "Service", "services"),
        spec={
            "selector": _LABELS,
            "ports": [{"name": "a", "port": 80, "targetPort": "http"}, {"name": "b", "port": 80, "protocol": "UDP"}],
        },
    ),
    _sample(
        *("apps/v1", "Deployment", "deployments"),
        spec={"replicas": 0, "selector": {"matchLabels": _LABELS}, "template": {"metadata": {"labels": _LABELS}, "spec": _POD}},
    ),
    _sample(
        *("batch/v1", "CronJob", "cronjobs"),
        spec={"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": {"spec": {**_POD, "restartPolicy": "Never"}}}}},
    ),
    _sample(
        *("networking.k8s.io/v1", "Ingress", "ingresses"),
        spec={
            "rules": [
                {
                    "host": "a.b",
                    "http": {
                        "paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "a", "port": {"number": 1}}}}]
                    },
                }
            ]
        },
    ),
    _sample(
        *("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
        spec={"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}},
    ),
    _sample("rbac.authorization.k8s.io/v1", "Role", "roles", rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]),
    _sample("v1", "ResourceQuota", "resourcequotas", spec={"hard": {"pods": "1000", "requests.cpu": "500"}}),
    _sample(
        "v1", "LimitRange", "limitranges", spec={"limits": [{"type": "Container", "default": {"cpu": "1"}, "max": {"cpu": "2"}}]}
    ),
    _sample(
        "v1", "Event", "events", involvedObject={"kind": "Pod", "name": "a", "namespace": "default"}, reason="A", type="Normal"
    ),
    _sample("example.com/v1", "Thing", "things", spec={"size": 1, "name": "a", "parts": [{"key": "a", "at": 1}, {"key": "b"}]}),
)

DEFINITION: dict[str, Any] = {
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "size": {"type": "integer", "minimum": 0, "default": 1},
                                    "name": {"type": "string", "pattern": "^[a-z]*$", "maxLength": 9},
                                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                                    "parts": {
                                        "type": "array",
                                        "x-kubernetes-list-type": "map",
                                        "x-kubernetes-list-map-keys": ["key"],
                                        "items": {
                                            "type": "object",
                                            "required": ["key"],
                                            "properties": {"key": {"type": "string"}, "at": {"x-kubernetes-int-or-string": True}},
                                        },
                                    },
                                },
                            },
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                        },
                    }
                },
            }
        ],
    },
}
