"""Tables: how much of each object a row includes."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

TABLE = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}


def made(http: httpx.Client, path: str, **fields: Any) -> dict[str, Any]:
    answer = http.post(path, json={"metadata": {"name": "a"}, **fields})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


@pytest.mark.parametrize("name", ["", "/a"])
def test_rows_include_as_much_of_the_object_as_requested(http: httpx.Client, configmaps: str, name: str) -> None:
    whole = made(http, configmaps, data={"k": "v"})
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": whole["metadata"]}
    for included, expected in ((None, partial), ("", partial), ("Metadata", partial), ("Object", whole), ("None", None)):
        asked = {} if included is None else {"includeObject": included}
        [row] = http.get(f"{configmaps}{name}", headers=TABLE, params=asked).json()["rows"]
        assert (row["cells"][:2], row["object"]) == (["a", 1], expected)


def test_whole_object_in_a_row_has_the_requested_version(http: httpx.Client, namespace: str) -> None:
    scaled = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": scaled, "maxReplicas": 3, "targetCPUUtilizationPercentage": 50}
    path = f"/apis/autoscaling/v1/namespaces/{namespace}/horizontalpodautoscalers"
    whole = made(http, path, spec=spec)
    [row] = http.get(path, headers=TABLE, params={"includeObject": "Object"}).json()["rows"]
    assert row["object"] == whole


def test_rows_of_a_watch_can_include_whole_objects(http: httpx.Client, configmaps: str) -> None:
    whole = made(http, configmaps, data={"k": "v"})
    asked = {"watch": "1", "includeObject": "Object", "timeoutSeconds": "20"}
    with http.stream("GET", configmaps, headers=TABLE, params=asked) as answer:
        event = json.loads(next(answer.iter_lines()))
    assert (event["type"], event["object"]["rows"][0]["object"]) == ("ADDED", whole)


def test_invalid_include_object_is_rejected(http: httpx.Client, configmaps: str) -> None:
    answer = http.get(configmaps, headers=TABLE, params={"includeObject": "Everything"})
    assert (answer.status_code, answer.json()["reason"]) == (400, "BadRequest")
    assert "includeObject" in answer.json()["message"]
    assert http.get(configmaps, params={"includeObject": "Everything"}).status_code == 200  # it is no table
