"""Defaults that are added to a CRD later apply to existing objects when they are read."""

from __future__ import annotations

import json
from typing import Any

import httpx

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
JSON_PATCH = {"Content-Type": "application/json-patch+json"}
TABLE = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}


def version(name: str, **properties: Any) -> dict[str, Any]:
    spec = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}, **properties}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    columns = [{"name": "A", "type": "string", "jsonPath": ".spec.a"}]
    about = {"additionalPrinterColumns": columns, "selectableFields": [{"jsonPath": ".spec.a"}]}
    return {"name": name, "served": True, "storage": name == "v1", "schema": schema, **about}


def define(http: httpx.Client, group: str, *versions: dict[str, Any]) -> str:
    names = {"plural": "things", "kind": "Thing"}
    spec = {"group": group, "scope": "Cluster", "names": names, "versions": list(versions)}
    assert http.post(DEFINITIONS, json={"metadata": {"name": f"things.{group}"}, "spec": spec}).status_code == 201
    return f"/apis/{group}/v1/things"


def make(http: httpx.Client, path: str, name: str) -> dict[str, Any]:
    about = {"apiVersion": path.removeprefix("/apis/").removesuffix("/things"), "kind": "Thing"}
    answer = http.post(path, json={**about, "metadata": {"name": name}, "spec": {"b": "mine"}})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def test_default_added_after_an_object_was_not_applied_to_it(http: httpx.Client) -> None:
    group = "new-defaults.example.com"
    path = define(http, group, version("v1"))
    old = make(http, path, "old")
    assert old["spec"] == {"b": "mine"}
    at = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/a/default"
    change = [{"op": "add", "path": at, "value": "A"}]
    assert http.patch(f"{DEFINITIONS}/things.{group}", json=change, headers=JSON_PATCH).status_code == 200
    new = make(http, path, "new")
    expected = {"a": "A", "b": "mine"}
    assert (new["spec"], http.get(f"{path}/old").json()["spec"]) == (expected, expected)
    assert [one["spec"] for one in http.get(path).json()["items"]] == [expected, expected]
    assert [row["cells"][1] for row in http.get(path, headers=TABLE).json()["rows"]] == ["A", "A"]
    assert len(http.get(path, params={"fieldSelector": "spec.a=A"}).json()["items"]) == 2
    with http.stream("GET", path, params={"watch": "1", "timeoutSeconds": "20"}) as answer:
        lines = answer.iter_lines()
        assert [json.loads(next(lines))["object"]["spec"] for _ in range(2)] == [expected, expected]
    asked = {"watch": "1", "timeoutSeconds": "20", "resourceVersion": str(int(old["metadata"]["resourceVersion"]) - 1)}
    with http.stream("GET", path, params=asked) as answer:
        assert json.loads(next(answer.iter_lines()))["object"]["spec"] == expected
    assert http.get(f"{path}/old").json()["metadata"]["resourceVersion"] == old["metadata"]["resourceVersion"]
    changed = http.patch(f"{path}/old", json=[{"op": "add", "path": "/spec/b", "value": "other"}], headers=JSON_PATCH).json()
    assert changed["spec"] == {"a": "A", "b": "other"}
    assert http.delete(f"{path}/old").status_code == 200


def test_default_of_one_version_was_not_applied_to_objects_stored_in_another(http: httpx.Client) -> None:
    group = "other-defaults.example.com"
    first = define(http, group, version("v1"), version("v2", a={"type": "string", "default": "A"}))
    second = first.replace("/v1/", "/v2/")
    make(http, first, "one")
    assert http.get(f"{first}/one").json()["spec"] == {"b": "mine"}
    assert http.get(f"{second}/one").json()["spec"] == {"a": "A", "b": "mine"}
    assert http.get(second).json()["items"][0]["spec"] == {"a": "A", "b": "mine"}
