"""Empty values in written objects: they are dropped unless Kubernetes' types keep them."""

from __future__ import annotations

import json
from typing import Any

import httpx

MERGE = {"Content-Type": "application/merge-patch+json"}
JSON_PATCH = {"Content-Type": "application/json-patch+json"}
DEPLOYMENT = {
    "metadata": {"name": "web", "labels": {"a": "b"}},
    "spec": {
        "replicas": 0,
        "paused": False,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}, "annotations": {}},
            "spec": {"containers": [{"name": "c", "image": "i", "args": [], "env": [{"name": "E", "value": ""}], "tty": False}]},
        },
    },
}


def patched(http: httpx.Client, path: str, change: Any, media: dict[str, str] = MERGE) -> dict[str, Any]:
    answer = http.patch(path, content=json.dumps(change), headers=media)
    assert answer.status_code == 200, answer.text
    assert http.get(path).json() == answer.json()
    return dict(answer.json())


def test_null_quantity_was_stored_as_null(http: httpx.Client, namespace: str) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    container = {"name": "c", "image": "i", "resources": {"limits": {"cpu": None}}}
    made = http.post(pods, json={"metadata": {"name": "p"}, "spec": {"containers": [container]}}).json()
    assert made["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "0"}, "requests": {"cpu": "0"}}
    quotas = f"/api/v1/namespaces/{namespace}/resourcequotas"
    assert http.post(quotas, json={"metadata": {"name": "q"}, "spec": {"hard": {"pods": None}}}).json()["spec"] == {
        "hard": {"pods": "0"}
    }


def test_kind_without_generations_keeps_the_given_generation(http: httpx.Client, configmaps: str, namespace: str) -> None:
    made = http.post(configmaps, json={"metadata": {"name": "a", "generation": 7}}).json()
    assert made["metadata"]["generation"] == 7
    assert patched(http, f"{configmaps}/a", {"data": {"x": "1"}, "metadata": {"generation": 9}})["metadata"]["generation"] == 7
    wrong = http.post(configmaps, json={"metadata": {"name": "b", "generation": -1}})
    assert [one["field"] for one in wrong.json()["details"]["causes"]] == ["metadata.generation"]
    deployment = {**DEPLOYMENT, "metadata": {"name": "counted", "generation": 7}}
    counted = http.post(f"/apis/apps/v1/namespaces/{namespace}/deployments", json=deployment).json()
    assert counted["metadata"]["generation"] == 1


def test_created_object_keeps_only_meaningful_empty_values(http: httpx.Client, namespace: str) -> None:
    made = http.post(f"/apis/apps/v1/namespaces/{namespace}/deployments", json=DEPLOYMENT).json()
    assert made["spec"]["replicas"] == 0
    assert "paused" not in made["spec"]
    assert made["status"] == {}
    template = made["spec"]["template"]
    assert template["metadata"] == {"labels": {"a": "b"}}
    assert template["spec"]["securityContext"] == {}
    container = template["spec"]["containers"][0]
    assert (container["resources"], container["env"]) == ({}, [{"name": "E"}])
    assert not {"args", "tty"} & container.keys()


def test_map_emptied_by_a_patch_is_dropped(http: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    http.post(path, json={"metadata": {"name": "c", "labels": {"a": "b"}, "finalizers": ["example.com/f"]}, "data": {"k": "v"}})
    now = patched(http, f"{path}/c", {"metadata": {"labels": {"a": None}}, "data": {"k": None}})
    assert "labels" not in now["metadata"]
    assert "data" not in now
    now = patched(http, f"{path}/c", [{"op": "remove", "path": "/metadata/finalizers/0"}], JSON_PATCH)
    assert "finalizers" not in now["metadata"]


def test_struct_emptied_by_a_patch_stays(http: httpx.Client, namespace: str) -> None:
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    limited = json.loads(json.dumps(DEPLOYMENT))
    limited["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1"}}
    http.post(path, json=limited)
    remove = [{"op": "remove", "path": "/spec/template/spec/containers/0/resources/limits/cpu"}]
    now = patched(http, f"{path}/web", remove, JSON_PATCH)
    assert now["spec"]["template"]["spec"]["containers"][0]["resources"] == {}
    now = patched(http, f"{path}/web", {"metadata": {"labels": None}, "spec": {"minReadySeconds": 0, "paused": False}})
    assert not {"minReadySeconds", "paused"} & now["spec"].keys()


def test_empty_list_without_omitempty_is_null(http: httpx.Client, namespace: str) -> None:
    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles"
    assert http.post(path, json={"metadata": {"name": "r"}, "rules": []}).json()["rules"] is None
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    assert patched(http, f"{path}/r", {"rules": [rule]})["rules"] == [rule]
    assert patched(http, f"{path}/r", {"rules": []})["rules"] is None


def test_update_that_only_adds_empty_values_writes_nothing(http: httpx.Client, namespace: str) -> None:
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    made = http.post(path, json=DEPLOYMENT).json()
    same = json.loads(json.dumps(made))
    same["metadata"] |= {"annotations": {}, "ownerReferences": [], "generateName": ""}
    same["spec"] |= {"paused": False}
    same["spec"]["template"]["spec"]["volumes"] = []
    assert http.put(f"{path}/web", json=same).json() == made


def test_custom_object_loses_only_empty_metadata(http: httpx.Client, namespace: str) -> None:
    spec = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    definition = {
        "metadata": {"name": "hollows.empty.example.com"},
        "spec": {
            "group": "empty.example.com",
            "scope": "Namespaced",
            "names": {"plural": "hollows", "kind": "Hollow"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
    assert http.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json=definition).status_code == 201
    path = f"/apis/empty.example.com/v1/namespaces/{namespace}/hollows"
    named = {"apiVersion": "empty.example.com/v1", "kind": "Hollow", "metadata": {"name": "h", "labels": {"a": "b"}}}
    http.post(path, json={**named, "spec": {"list": [], "map": {}, "text": "", "number": 0}})
    now = patched(http, f"{path}/h", {"metadata": {"labels": {"a": None}}})
    assert "labels" not in now["metadata"]
    assert now["spec"] == {"list": [], "map": {}, "text": "", "number": 0}
