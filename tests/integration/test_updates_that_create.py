"""Updates of objects that do not exist: for some kinds they create them, as in Kubernetes."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

RULES = "rbac.authorization.k8s.io"
ROLE = {"roleRef": {"apiGroup": RULES, "kind": "ClusterRole", "name": "view"}}
LEASES = "apis/coordination.k8s.io/v1/namespaces/{}/leases"

KINDS: list[tuple[str, dict[str, Any]]] = [
    ("api/v1/namespaces/{}/endpoints", {}),
    ("api/v1/namespaces/{}/limitranges", {"spec": {"limits": []}}),
    ("api/v1/namespaces/{}/services", {"spec": {"ports": [{"port": 80}]}}),
    (LEASES, {"spec": {"holderIdentity": "me"}}),
    (f"apis/{RULES}/v1/namespaces/{{}}/roles", {"rules": []}),
    (f"apis/{RULES}/v1/namespaces/{{}}/rolebindings", ROLE),
    (f"apis/{RULES}/v1/clusterroles", {"rules": []}),
    (f"apis/{RULES}/v1/clusterrolebindings", ROLE),
]


@pytest.mark.parametrize(("path", "rest"), KINDS, ids=[path.rpartition("/")[2] for path, _ in KINDS])
def test_update_of_a_missing_object_creates_it(http: httpx.Client, namespace: str, path: str, rest: dict[str, Any]) -> None:
    name = f"new-in-{namespace}"
    where = f"/{path.format(namespace)}/{name}"
    answer = http.put(where, json={"metadata": {"name": name, "labels": {"x": "y"}}, **rest}, headers={"user-agent": "me/1"})
    assert answer.status_code == 201, answer.text
    made = answer.json()
    assert made["metadata"]["uid"]
    assert [(one["manager"], one["operation"]) for one in made["metadata"]["managedFields"]] == [("me", "Update")]
    assert http.get(where).json() == made
    again = http.put(where, json={**made, "metadata": {**made["metadata"], "labels": {"a": "b"}}})
    assert (again.status_code, again.json()["metadata"]["uid"]) == (200, made["metadata"]["uid"])


@pytest.mark.parametrize("plural", ["configmaps", "secrets", "serviceaccounts", "pods", "podtemplates"])
def test_other_kinds_are_not_created_by_an_update(http: httpx.Client, namespace: str, plural: str) -> None:
    answer = http.put(f"/api/v1/namespaces/{namespace}/{plural}/a", json={"metadata": {"name": "a"}})
    assert (answer.status_code, answer.json()["reason"]) == (404, "NotFound")


def test_update_of_a_deleted_object_does_not_recreate_it(http: httpx.Client, namespace: str) -> None:
    """A uid in the update refers to the deleted object. An update with only a resourceVersion creates a new one."""
    leases = f"/{LEASES.format(namespace)}"
    made = http.post(leases, json={"metadata": {"name": "a"}}).json()
    assert http.delete(f"{leases}/a").status_code == 200
    answer = http.put(f"{leases}/a", json=made)
    assert (answer.status_code, answer.json()["reason"]) == (409, "Conflict")
    assert made["metadata"]["uid"] in answer.json()["message"]
    assert http.get(f"{leases}/a").status_code == 404
    del made["metadata"]["uid"]
    again = http.put(f"{leases}/a", json=made)
    assert again.status_code == 201
    assert again.json()["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]


def test_only_an_update_of_the_whole_object_creates_it(http: httpx.Client, namespace: str) -> None:
    service = f"/api/v1/namespaces/{namespace}/services/a"
    body = {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}
    assert http.patch(service, json=body, headers={"content-type": "application/merge-patch+json"}).status_code == 404
    assert http.put(f"{service}/status", json=body).status_code == 404
    assert http.put(service, params={"dryRun": "All"}, json=body).status_code == 201
    assert http.get(service).status_code == 404
    assert http.put(service, json={"metadata": {"name": "a"}, "spec": {"ports": []}}).status_code == 422
    assert http.put("/api/v1/namespaces/nowhere/services/a", json=body).status_code == 404
