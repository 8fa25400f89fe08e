"""Object identity: name, namespace and resourceVersion in the path and in the body."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from support.sample_objects import create_object

MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
RBAC = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
WIDGETS = {
    "group": "placed.example.com",
    "scope": "Cluster",
    "names": {"plural": "widgets", "kind": "Widget"},
    "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}],
}


def causes(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 422, answer.text
    return sorted({one["field"] for one in answer.json()["details"]["causes"]})


def patched(http: httpx.Client, path: str, media: str, patch: Any, **query: str) -> httpx.Response:
    return http.patch(path, json=patch, headers={"Content-Type": media}, params=query)


@pytest.mark.parametrize(
    ("path", "name", "more"),
    [
        (ROLES, "placed", {"rules": []}),
        ("/api/v1/namespaces", "placed", {}),
        ("/apis/scheduling.k8s.io/v1/priorityclasses", "placed", {"value": 1}),
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "widgets.placed.example.com", {"spec": WIDGETS}),
    ],
    ids=["role", "namespace", "class", "definition"],
)
def test_cluster_scoped_object_with_a_namespace_was_rejected(
    http: httpx.Client, path: str, name: str, more: dict[str, Any]
) -> None:
    body = {**more, "metadata": {"name": name, "namespace": "default"}}
    created = http.post(path, json=body)
    assert created.status_code == 201, created.text
    assert "namespace" not in created.json()["metadata"]
    assert http.delete(f"{path}/{name}").status_code in {200, 202}


def test_update_of_a_cluster_scoped_object_with_a_namespace_was_rejected(http: httpx.Client) -> None:
    role = create_object(http, ROLES, "patched", rules=[])
    put = http.put(f"{ROLES}/patched", json={**role, "metadata": {**role["metadata"], "namespace": "default"}})
    assert (put.status_code, "namespace" in put.json()["metadata"]) == (200, False)
    given = {"metadata": {"namespace": "default", "labels": {"a": "b"}}}
    for media in (MERGE, STRATEGIC):
        done = patched(http, f"{ROLES}/patched", media, given)
        assert (done.status_code, "namespace" in done.json()["metadata"]) == (200, False)
    for name in ("patched", "applied"):
        document = {**RBAC, "metadata": {"name": name, "namespace": "default", "labels": {"c": "d"}}}
        done = patched(http, f"{ROLES}/{name}", APPLY, document, fieldManager="me")
        assert done.status_code in {200, 201}, done.text
        assert "namespace" not in done.json()["metadata"]


def test_namespace_that_differs_from_the_path_is_rejected(http: httpx.Client, configmaps: str) -> None:
    other = {"metadata": {"name": "a", "namespace": "default"}}
    assert http.post(configmaps, json=other).status_code == 400
    create_object(http, configmaps, "a")
    assert http.put(f"{configmaps}/a", json=other).status_code == 400
    assert patched(http, f"{configmaps}/a", MERGE, other).status_code == 400


@pytest.mark.parametrize(
    ("method", "media", "body"),
    [
        ("PUT", "application/json", {"metadata": {}}),
        ("PUT", "application/json", {}),
        ("PATCH", MERGE, {"metadata": {"name": None}}),
        ("PATCH", MERGE, {"metadata": None}),
        ("PATCH", STRATEGIC, {"metadata": {"name": None}}),
        ("PATCH", JSON_PATCH, [{"op": "remove", "path": "/metadata/name"}]),
        ("PATCH", JSON_PATCH, [{"op": "replace", "path": "", "value": {}}]),
    ],
    ids=["put", "put-nothing", "merge", "merge-nothing", "strategic", "json-patch", "json-patch-nothing"],
)
def test_object_without_a_name_replaced_the_one_in_the_path(
    http: httpx.Client, configmaps: str, method: str, media: str, body: Any
) -> None:
    before = create_object(http, configmaps, "a", data={"x": "1"})
    answer = http.request(method, f"{configmaps}/a", json=body, headers={"Content-Type": media})
    assert (answer.status_code, answer.json()["reason"]) == (400, "BadRequest")
    assert "name must be provided" in answer.json()["message"]
    assert http.get(f"{configmaps}/a").json() == before


@pytest.mark.parametrize("part", ["status", "scale"])
def test_subresource_write_without_a_name_was_accepted(http: httpx.Client, namespace: str, part: str) -> None:
    path = deployment(http, namespace)
    assert http.put(f"{path}/{part}", json={"metadata": {}}).status_code == 400
    assert patched(http, f"{path}/{part}", MERGE, {"metadata": {"name": None}}).status_code == 400


def deployment(http: httpx.Client, namespace: str) -> str:
    """Returns the path of a new object."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    create_object(http, path, "d", spec={"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template})
    return f"{path}/d"


@pytest.mark.parametrize("field", ["kind", "apiVersion"])
def test_patch_cannot_change_the_kind(http: httpx.Client, configmaps: str, field: str) -> None:
    create_object(http, configmaps, "a")
    assert causes(patched(http, f"{configmaps}/a", MERGE, {field: "x"})) == ["patch"]
    changed = [{"op": "replace", "path": f"/{field}", "value": "x"}]
    assert causes(patched(http, f"{configmaps}/a", JSON_PATCH, changed)) == ["patch"]
    done = patched(http, f"{configmaps}/a", STRATEGIC, {field: "x", "data": {"y": "1"}})
    assert (done.status_code, done.json()["kind"], done.json()["data"]) == (200, "ConfigMap", {"y": "1"})


def test_patch_of_a_scale_that_does_not_fit_is_invalid(http: httpx.Client, namespace: str) -> None:
    scale = f"{deployment(http, namespace)}/scale"
    assert causes(patched(http, scale, MERGE, {"spec": {"replicas": "x"}})) == ["patch"]
    assert http.put(scale, json={"metadata": {"name": "d"}, "spec": {"replicas": "x"}}).status_code == 400


@pytest.mark.parametrize("path", ["/api/v1/namespaces/default/configmaps/gone", "/api/v1/namespaces/default/pods/gone/status"])
def test_update_of_a_deleted_object_was_not_distinguished_from_one_that_never_existed(http: httpx.Client, path: str) -> None:
    body: dict[str, Any] = {"metadata": {"name": "gone"}}
    if "pods" in path:
        body["spec"] = {"containers": [{"name": "c", "image": "i"}]}
    assert http.put(path, json=body).status_code == 404
    body["metadata"]["uid"] = "11111111-1111-4111-8111-111111111111"
    answer = http.put(path, json=body)
    assert (answer.status_code, answer.json()["reason"]) == (409, "Conflict")


def test_resource_version_0_means_any_version_for_unconditional_updates(
    http: httpx.Client, configmaps: str, namespace: str
) -> None:
    create_object(http, configmaps, "a")
    any_version = {"name": "a", "resourceVersion": "0"}
    assert http.put(f"{configmaps}/a", json={"metadata": any_version, "data": {"x": "1"}}).status_code == 200
    assert patched(http, f"{configmaps}/a", MERGE, {"metadata": any_version, "data": {"x": "2"}}).json()["data"] == {"x": "2"}
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    create_object(http, accounts, "a")
    assert causes(http.put(f"{accounts}/a", json={"metadata": any_version})) == ["metadata.resourceVersion"]
    assert causes(patched(http, f"{accounts}/a", MERGE, {"metadata": any_version})) == ["metadata.resourceVersion"]


WHEN = "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("meta", "field"),
    [
        ({"deletionTimestamp": WHEN}, "metadata.deletionTimestamp"),
        ({"deletionGracePeriodSeconds": 5}, "metadata.deletionGracePeriodSeconds"),
    ],
    ids=["when", "grace"],
)
def test_deletion_timestamp_cannot_be_set_by_a_write(http: httpx.Client, configmaps: str, meta: dict[str, Any], field: str) -> None:
    create_object(http, configmaps, "a")
    assert causes(http.put(f"{configmaps}/a", json={"metadata": {"name": "a", **meta}})) == [field]
    assert causes(patched(http, f"{configmaps}/a", MERGE, {"metadata": meta})) == [field]


def test_deletion_timestamp_and_grace_period_cannot_be_changed(http: httpx.Client, configmaps: str) -> None:
    create_object(http, configmaps, "a", metadata={"finalizers": ["example.com/hold"]})
    http.request("DELETE", f"{configmaps}/a", json={"gracePeriodSeconds": 0})
    leaving = http.get(f"{configmaps}/a").json()["metadata"]
    for given in (None, WHEN):
        done = patched(http, f"{configmaps}/a", MERGE, {"metadata": {"deletionTimestamp": given, "labels": {"a": str(given)[:4]}}})
        assert done.json()["metadata"]["deletionTimestamp"] == leaving["deletionTimestamp"]
    changed = {"metadata": {"deletionGracePeriodSeconds": 99}}
    assert causes(patched(http, f"{configmaps}/a", MERGE, changed)) == ["metadata.deletionGracePeriodSeconds"]
    assert patched(http, f"{configmaps}/a", MERGE, {"metadata": {"finalizers": None}}).status_code == 200


def test_pod_status_update_cannot_change_the_deletion_timestamp(http: httpx.Client, namespace: str) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    create_object(http, pods, "p", spec={"containers": [{"name": "c", "image": "i"}]})
    done = patched(http, f"{pods}/p/status", MERGE, {"metadata": {"deletionTimestamp": WHEN}, "status": {"message": "m"}})
    assert (done.status_code, "deletionTimestamp" in done.json()["metadata"]) == (200, False)
