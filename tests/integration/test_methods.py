"""The methods of a path."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from support.sample_objects import create_object

GROUP = "methods.example.com"
THINGS = f"/apis/{GROUP}/v1/things"
REPLICAS = {"type": "object", "properties": {"replicas": {"type": "integer"}}}
SPEC = {
    "group": GROUP,
    "scope": "Namespaced",
    "names": {"plural": "things", "kind": "Thing"},
    "versions": [
        {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": REPLICAS, "status": REPLICAS}}},
            "subresources": {"scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
        }
    ],
}


@pytest.fixture(scope="module")
def things(http: httpx.Client) -> Iterator[str]:
    """The path of Things in the namespace `default`."""
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    create_object(http, definitions, f"things.{GROUP}", spec=SPEC)
    yield f"/apis/{GROUP}/v1/namespaces/default/things"
    http.delete(f"{definitions}/things.{GROUP}")


def answered(http: httpx.Client, method: str, path: str, media: str = "application/json") -> tuple[int, str]:
    thing = {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": "a"}}
    answer = http.request(method, path, json=thing, headers={"Content-Type": media})
    return answer.status_code, answer.json().get("reason", "")


def test_collection_was_deleted_in_all_namespaces_at_once(http: httpx.Client, configmaps: str) -> None:
    create_object(http, configmaps, "a")
    for path in ("/api/v1/configmaps", "/apis/apps/v1/deployments"):
        for method in ("DELETE", "POST", "PUT", "PATCH"):
            assert answered(http, method, path) == (405, "MethodNotAllowed")
    assert http.get(f"{configmaps}/a").status_code == 200
    assert http.delete(configmaps).status_code == 200
    assert http.get(f"{configmaps}/a").status_code == 404


def test_custom_kind_across_namespaces_is_read_only(http: httpx.Client, things: str) -> None:
    assert http.get(THINGS).status_code == 200
    assert http.get(THINGS, params={"watch": "1", "timeoutSeconds": "1"}).status_code == 200
    assert answered(http, "GET", f"{things}/absent") == (404, "NotFound")
    for method in ("DELETE", "POST", "PUT", "PATCH"):
        assert answered(http, method, THINGS) == (404, "NotFound")


def test_update_of_a_custom_object_requires_a_name(http: httpx.Client, things: str) -> None:
    for method in ("PUT", "PATCH"):
        assert answered(http, method, things) == (400, "BadRequest")
    refused = http.post(f"{things}/a", json={})
    assert (refused.status_code, refused.json()["details"]) == (405, {"group": GROUP, "kind": "things"})


def test_scale_of_a_custom_kind_accepts_the_same_patch_types(http: httpx.Client, things: str) -> None:
    create_object(http, things, "a", apiVersion=f"{GROUP}/v1", kind="Thing", spec={"replicas": 1})
    assert answered(http, "PATCH", f"{things}/a/scale", "application/strategic-merge-patch+json") == (415, "UnsupportedMediaType")
    merge = {"Content-Type": "application/merge-patch+json"}
    assert http.patch(f"{things}/a/scale", json={"spec": {"replicas": 2}}, headers=merge).json()["spec"] == {"replicas": 2}
