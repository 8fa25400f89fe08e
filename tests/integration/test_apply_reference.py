"""Server-side apply compared with a real control plane: recorded sequences of writes by several managers, step by step."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.http_server import memory_server_url

DATA = Path(__file__).parents[1] / "data"
CASES = json.loads((DATA / "server-side-apply.json").read_text())
KINDS = {
    "cm": ("/api/v1", "configmaps", "v1", "ConfigMap"),
    "deploy": ("/apis/apps/v1", "deployments", "apps/v1", "Deployment"),
    "svc": ("/api/v1", "services", "v1", "Service"),
    "thing": ("/apis/patch.example.com/v1", "things", "patch.example.com/v1", "Thing"),
}
TEXT = {"type": "string"}
ITEM = {"type": "object", "required": ["k"], "properties": {"k": TEXT, "v": TEXT, "w": TEXT}}
SPEC = {
    "type": "object",
    "x-kubernetes-preserve-unknown-fields": True,
    "properties": {
        "n": {"type": "integer"},
        "d": {"type": "string", "default": "dflt"},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
        "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": ITEM},
        "atom": {"type": "array", "x-kubernetes-list-type": "atomic", "items": TEXT},
        "plain": {"type": "array", "items": TEXT},
        "gran": {"type": "object", "additionalProperties": TEXT},
        "one": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": TEXT, "b": TEXT}},
    },
}
STATUS = {"type": "object", "properties": {"ok": {"type": "boolean"}}}
THING = {"type": "object", "properties": {"spec": SPEC, "status": STATUS}}


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    """A server with the CRD that the recording used."""
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": THING}}
    names = {"plural": "things", "singular": "thing", "kind": "Thing"}
    spec = {"group": "patch.example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.patch.example.com"},
        "spec": spec,
    }
    with memory_server_url("--controllers", "none") as url, httpx.Client(base_url=url, timeout=60) as client:
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        assert client.post(path, json=definition).status_code == 201
        yield client


def send(http: httpx.Client, path: str, step: dict[str, Any], about: dict[str, str]) -> httpx.Response:
    document = {**about, **step["body"], "metadata": {**step["body"].get("metadata", {}), "name": "one"}}
    query = {"fieldManager": step["manager"]}
    if step["do"] == "create":
        return http.post(path, params=query, json=document)
    if step["do"] == "merge":
        media = {"Content-Type": "application/merge-patch+json"}
        return http.patch(f"{path}/one", params=query, content=json.dumps(step["body"]), headers=media)
    query |= {"force": "true"} if step.get("force") else {}
    query |= {"dryRun": "All"} if step.get("dry") else {}
    part = f"/{step['sub']}" if step.get("sub") else ""
    media = {"Content-Type": "application/apply-patch+yaml"}
    return http.patch(f"{path}/one{part}", params=query, content=json.dumps(document), headers=media)


def comparable(object_: dict[str, Any]) -> Any:
    own = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "name", "namespace")
    kept = {field: value for field, value in object_.items() if field != "status"}
    kept["metadata"] = {field: value for field, value in object_["metadata"].items() if field not in own}
    spec = {field: value for field, value in object_.get("spec", {}).items() if field not in {"clusterIP", "clusterIPs"}}
    return {**kept, "spec": spec} if "spec" in kept else kept


def owned(entries: list[dict[str, Any]]) -> dict[tuple[str, ...], Any]:
    keys = ("manager", "operation", "apiVersion")
    return {(*(entry[key] for key in keys), entry.get("subresource", "")): entry["fieldsV1"] for entry in entries}


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_writes_of_several_managers_match_the_recording(http: httpx.Client, namespace: str, case: dict[str, Any]) -> None:
    folder, plural, version, kind = KINDS[case["kind"]]
    path = f"{folder}/namespaces/{namespace}/{plural}"
    for step, expected in zip(case["steps"], case["expect"], strict=True):
        answer = send(http, path, step, {"apiVersion": version, "kind": kind})
        if expected["code"] == "4xx":
            assert 400 <= answer.status_code < 500
            continue
        assert answer.status_code == expected["code"], answer.text
        told = answer.json()
        if answer.status_code < 300:
            assert comparable(told) == comparable(expected["object"])
            assert told.get("status", {}) == expected.get("status", told.get("status", {}))
            assert owned(told["metadata"].get("managedFields", [])) == owned(expected["managedFields"])
        else:
            causes = [cause for cause in told["details"]["causes"] if cause["reason"] == "FieldManagerConflict"]
            assert sorted(cause["field"] for cause in causes) == expected["conflicts"]


def test_duplicate_key_in_a_document_is_reported(http: httpx.Client, namespace: str) -> None:
    document = b'{"apiVersion":"v1","kind":"ConfigMap","data":{"x":"1","x":"2"}}'
    path, media = f"/api/v1/namespaces/{namespace}/configmaps/a", {"Content-Type": "application/apply-patch+yaml"}
    refused = http.patch(path, params={"fieldManager": "m", "fieldValidation": "Strict"}, content=document, headers=media)
    assert refused.status_code == 400
    wanted = (
        'error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  line 1: key "x" already set in map'
    )
    assert refused.json()["message"] == wanted
    response = http.patch(path, params={"fieldManager": "m"}, content=document, headers=media)
    assert response.status_code == 201
    assert response.headers["warning"] == '299 - "line 1: key \\"x\\" already set in map"'


def test_managed_fields_were_written_in_document_order(http: httpx.Client, namespace: str) -> None:
    pods, containers = f"/api/v1/namespaces/{namespace}/pods", '"f:containers":{"k:{\\"name\\":\\"c\\"}":{".":{},"f:image":{},'
    spec = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    about = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    media = {"Content-Type": "application/apply-patch+yaml"}
    applied = http.patch(f"{pods}/p", json={**about, **spec}, headers=media, params={"fieldManager": "m"})
    assert '"fieldsV1":{"f:spec":{' + containers + '"f:name":{}}}}}' in applied.text
    assert containers in http.post(pods, json={"metadata": {"name": "q"}, **spec}).text
    ports = [{"name": "b", "port": 8080}, {"name": "a", "port": 443}]
    services = f"/api/v1/namespaces/{namespace}/services"
    made = http.post(services, json={"metadata": {"name": "s"}, "spec": {"ports": ports}}).text
    assert made.index('"k:{\\"port\\":443') < made.index('"k:{\\"port\\":8080')
    assert made.index('"f:internalTrafficPolicy"') < made.index('"f:ports"') < made.index('"f:type"')
