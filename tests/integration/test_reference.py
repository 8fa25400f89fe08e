"""The server compared with a real control plane: recorded facts, row by row."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.http_server import memory_server_url

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    """A server without controllers, because some rows have owners that do not exist."""
    with memory_server_url("--controllers", "none") as url, httpx.Client(base_url=url, timeout=60) as client:
        yield client


def load(name: str) -> Any:
    return json.loads((DATA / name).read_text())


def api_path(path: str, namespace: str) -> str:
    return ("/api/" if path.startswith("v1/") else "/apis/") + path.replace("{ns}", namespace)


TABLES = load("table-columns.json")


@pytest.mark.parametrize("resource", TABLES)
def test_table_has_the_recorded_columns(http: httpx.Client, resource: str) -> None:
    plural, version, *group = resource.split(".", 2)
    path = f"/apis/{group[0]}/{version}/{plural}" if group else f"/api/{version}/{plural}"
    answer = http.get(path, params={"limit": 1}, headers={"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}).json()
    told = ("name", "type", "format", "priority")
    shown = [{name: column[name] for name in told if column.get(name) not in ("", None)} for column in answer["columnDefinitions"]]
    assert shown == TABLES[resource]


DEFAULTS = load("defaults.json")


def blurred(object_: dict[str, Any]) -> Any:
    """Returns the object without server-generated values."""
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME", json.dumps(object_))
    return json.loads(re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", "UID", text))


def without_allocated(object_: dict[str, Any], *, is_service: bool) -> dict[str, Any]:
    spec = object_.get("spec", {})
    for name in ("clusterIP", "clusterIPs"):
        if spec.get(name) not in ("None", ["None"]):
            spec.pop(name, None)
    for port in spec.get("ports", []) if is_service else []:
        port.pop("nodePort", None)
    spec.pop("healthCheckNodePort", None)
    return object_


@pytest.mark.parametrize("number", range(len(DEFAULTS)), ids=[row["path"] for row in DEFAULTS])
def test_created_object_has_the_recorded_defaults(http: httpx.Client, namespace: str, number: int) -> None:
    row = DEFAULTS[number]
    name = "things.ref.example.com" if "customresourcedefinitions" in row["path"] else f"ref-{number}"
    body = json.loads(json.dumps(row["input"]).replace("NS", namespace)) | {"metadata": {"name": name}}
    answer = http.post(api_path(row["path"], namespace), params={"dryRun": "All"}, json=body)
    assert answer.status_code == 201, answer.text
    made = answer.json()
    own = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "name", "namespace")
    made["metadata"] = {field: value for field, value in made["metadata"].items() if field not in own}
    made = json.loads(json.dumps(made).replace(namespace, "NS").replace(name, "NAME"))
    is_service = "services" in row["path"]
    stored = json.loads(json.dumps(row["stored"]))
    assert blurred(without_allocated(made, is_service=is_service)) == blurred(without_allocated(stored, is_service=is_service))


ROLES = {"rbac.authorization.k8s.io/v1/namespaces/{ns}/roles", "rbac.authorization.k8s.io/v1/clusterroles"}
"""Kinds whose empty list of rules Kubernetes counts as set."""


@pytest.mark.parametrize("number", range(len(DEFAULTS)), ids=[row["path"] for row in DEFAULTS])
def test_created_object_has_the_recorded_managed_fields(http: httpx.Client, namespace: str, number: int) -> None:
    row = DEFAULTS[number]
    name = "things.ref.example.com" if "customresourcedefinitions" in row["path"] else f"ref-{number}"
    body = json.loads(json.dumps(row["input"]).replace("NS", namespace)) | {"metadata": {"name": name}}
    answer = http.post(api_path(row["path"], namespace), params={"dryRun": "All", "fieldManager": "rec"}, json=body)
    assert answer.status_code == 201, answer.text
    entries = answer.json()["metadata"].get("managedFields", [])
    assert [entry["fieldsV1"] for entry in entries] == ([] if row["path"] in ROLES else row["managedFields"])
    for entry in entries:
        assert (entry["manager"], entry["operation"], entry["fieldsType"]) == ("rec", "Update", "FieldsV1")
        assert entry["time"] == answer.json()["metadata"]["creationTimestamp"]


REFUSALS = load("refusals.json")


@pytest.mark.parametrize("row", REFUSALS, ids=[row["name"] for row in REFUSALS])
def test_invalid_request_is_rejected_as_recorded(http: httpx.Client, namespace: str, row: dict[str, Any]) -> None:
    http.post(f"/api/v1/namespaces/{namespace}/configmaps", json={"metadata": {"name": "exists"}, "data": {"a": "1"}})
    request = row["request"]
    body = request["body"]
    content = None if body is None else body if isinstance(body, str) else json.dumps(body)
    headers = {"Accept": request.get("accept", "application/json"), "Content-Type": request.get("ctype", "application/json")}
    answer = http.request(request["method"], request["path"].replace("{ns}", namespace), content=content, headers=headers)
    if row["code"] < 300:
        assert answer.status_code == row["code"]
        assert len(answer.headers.get_list("warning")) == row["warnings"]
        return
    status = answer.json()
    if row["code"] >= 500 and row["code"] != 504:  # what Kubernetes calls its own fault is the client's here
        assert 400 <= answer.status_code < 500
    else:
        assert (answer.status_code, status.get("reason")) == (row["code"], row["reason"])
        fields = {cause.get("field", "") for cause in status["details"].get("causes", [])}
        assert fields == {cause["field"] or "" for cause in row["causes"]}
    assert status["kind"] == "Status"
    assert status["message"]


STRATEGIC = [row for row in load("strategic-merge.json") if row["kind"] != "thing"]  # a custom kind has no strategic merge
PATHS = {
    "cm": "/api/v1/namespaces/{ns}/configmaps",
    "deploy": "/apis/apps/v1/namespaces/{ns}/deployments",
    "svc": "/api/v1/namespaces/{ns}/services",
    "pod": "/api/v1/namespaces/{ns}/pods",
    "sa": "/api/v1/namespaces/{ns}/serviceaccounts",
    "job": "/apis/batch/v1/namespaces/{ns}/jobs",
}


def comparable(object_: dict[str, Any], name: str) -> Any:
    own = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "name", "namespace")
    kept = {field: value for field, value in object_.items() if field != "status"}
    kept["metadata"] = {field: value for field, value in object_["metadata"].items() if field not in own}
    kept = without_allocated(json.loads(json.dumps(kept)), is_service=False)
    return json.loads(json.dumps(kept).replace(name, "NAME"))


@pytest.mark.parametrize("row", STRATEGIC, ids=[row["name"] for row in STRATEGIC])
def test_strategic_merge_patch_matches_the_recording(http: httpx.Client, namespace: str, row: dict[str, Any]) -> None:
    path = PATHS[row["kind"]].replace("{ns}", namespace)
    start = row["start"] | {"metadata": {**row["start"].get("metadata", {}), "name": "patched"}}
    assert http.post(path, json=start).status_code == 201
    headers = {"Content-Type": "application/strategic-merge-patch+json"}
    for patch, expected in zip(row["patches"], row["expect"], strict=True):
        answer = http.patch(f"{path}/patched", content=json.dumps(patch), headers=headers)
        if expected["code"] == "4xx":
            assert 400 <= answer.status_code < 500
        else:
            assert answer.status_code == expected["code"], answer.text
        if answer.status_code < 300:
            assert comparable(answer.json(), "patched") == comparable(expected["object"], "patched")
