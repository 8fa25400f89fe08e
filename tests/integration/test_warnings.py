"""Writes that are allowed but questionable get a warning every time and succeed."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from probate.server.codec.warning_headers import MAX_EACH, MAX_TOTAL, MAX_WARNINGS

APPLY, MERGE = "application/apply-patch+yaml", "application/merge-patch+json"
HIDES = '299 - "spec.template.spec.containers[0].env[1]: hides previous definition of \\"A\\", which apply may drop"'
TWICE = [{"name": "A", "value": "a"}, {"name": "A", "value": "b"}]


def deployment(name: str, env: list[dict[str, str]] | None = None, **spec: Any) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i", "env": env or []}]}}
    about = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}}
    return {**about, "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template, **spec}}


@pytest.fixture
def deployments(namespace: str) -> str:
    return f"/apis/apps/v1/namespaces/{namespace}/deployments"


def told(answer: httpx.Response) -> list[str]:
    assert answer.status_code in {200, 201}, answer.text
    return answer.headers.get_list("warning")


def test_create_warns(http: httpx.Client, deployments: str) -> None:
    assert told(http.post(deployments, json=deployment("a", TWICE))) == [HIDES]
    assert told(http.post(deployments, json=deployment("b", TWICE[:1]))) == []
    assert told(http.post(deployments, json=deployment("c", TWICE), params={"dryRun": "All"})) == [HIDES]


def test_update_and_patch_warn_if_the_spec_changes(http: httpx.Client, deployments: str) -> None:
    made = http.post(deployments, json=deployment("a")).json()
    made["spec"]["template"] = deployment("a", TWICE)["spec"]["template"]
    path = f"{deployments}/a"
    assert told(http.put(path, json={**made, "metadata": {"name": "a"}})) == [HIDES]
    assert told(http.put(path, json={**made, "metadata": {"name": "a", "labels": {"x": "y"}}})) == []
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "j", "env": TWICE}]}}}}
    assert told(http.patch(path, json=patch, headers={"content-type": MERGE})) == [HIDES]
    assert told(http.patch(path, json=patch, headers={"content-type": MERGE})) == []


def test_apply_warns_on_create_and_on_change(http: httpx.Client, deployments: str) -> None:
    def apply(**spec: Any) -> list[str]:
        body = deployment("with.dot", **spec)
        path, headers = f"{deployments}/with.dot", {"content-type": APPLY}
        return told(http.patch(path, json=body, params={"fieldManager": "m"}, headers=headers))

    (name,) = apply()
    assert name.startswith('299 - "metadata.name: this is used in Pod names and hostnames')
    assert apply(replicas=1) == []


def test_rejected_write_has_no_warnings(http: httpx.Client, deployments: str) -> None:
    answer = http.post(deployments, json=deployment("a", TWICE, replicas=-1))
    assert answer.status_code == 422
    assert "warning" not in answer.headers


def test_stateful_set_that_keeps_all_its_history_is_allowed(http: httpx.Client, namespace: str) -> None:
    body = {**deployment("a", revisionHistoryLimit=-1), "kind": "StatefulSet"}
    (warning,) = told(http.post(f"/apis/apps/v1/namespaces/{namespace}/statefulsets", json=body))
    assert "spec.revisionHistoryLimit: a negative value retains all revisions" in warning


def test_number_of_warnings_is_limited(http: httpx.Client, namespace: str) -> None:
    env = [{"name": "A", "value": str(number)} for number in range(100)]
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i", "env": env}]}}
    assert len(told(http.post(f"/api/v1/namespaces/{namespace}/pods", json=pod))) == MAX_WARNINGS


def absent_owners(number: int, letters: int) -> list[dict[str, str]]:
    names = [f"{at}-{'n' * letters}" for at in range(number)]
    return [{"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": f"uid-{name[:2]}"} for name in names]


def test_warning_is_not_cut_in_the_middle_of_a_sentence(http: httpx.Client, configmaps: str) -> None:
    owners = absent_owners(1, 240)
    (warning,) = told(http.post(configmaps, json={"metadata": {"name": "a", "ownerReferences": owners}}))
    assert owners[0]["name"] in warning
    assert warning.endswith('this object is deleted in a moment"'), warning


def test_warnings_are_truncated_only_if_they_are_too_long_together(http: httpx.Client, configmaps: str) -> None:
    few = told(http.post(configmaps, json={"metadata": {"name": "a", "ownerReferences": absent_owners(8, 240)}}))
    assert len(few) == 8
    assert all(one.endswith('a moment"') for one in few)
    many = told(http.post(configmaps, json={"metadata": {"name": "b", "ownerReferences": absent_owners(19, 240)}}))
    assert len(many) == MAX_TOTAL // MAX_EACH
    assert {len(one) for one in many} == {MAX_EACH + len('299 - ""')}
    assert all(one.endswith('..."') for one in many)


def test_unusable_tls_secret_gets_a_warning(http: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/secrets"
    body = {"metadata": {"name": "s"}, "type": "kubernetes.io/tls", "stringData": {"tls.crt": "x", "tls.key": "y"}}
    expected = ['299 - "tls: tls.crt contains no readable certificate"']
    assert told(http.post(path, json=body)) == expected
    assert told(http.put(f"{path}/s", json=body)) == expected


def test_finalizer_that_is_not_domain_qualified_gets_a_warning(http: httpx.Client) -> None:
    names = {"plural": "doubts", "singular": "doubt", "kind": "Doubt", "listKind": "DoubtList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {"group": "warnings.example.com", "scope": "Cluster", "names": names, "versions": [version]}
    definition = {"metadata": {"name": "doubts.warnings.example.com"}, "spec": spec}
    assert told(http.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json=definition)) == []
    path, about = "/apis/warnings.example.com/v1/doubts", {"apiVersion": "warnings.example.com/v1", "kind": "Doubt"}
    (warning,) = told(http.post(path, json={**about, "metadata": {"name": "a", "finalizers": ["a.example.com"]}}))
    assert warning.startswith('299 - "metadata.finalizers: \\"a.example.com\\": prefer a domain-qualified name')
    assert told(http.patch(f"{path}/a", json={"metadata": {"labels": {"a": "b"}}}, headers={"content-type": MERGE})) == []
    patch = {"metadata": {"finalizers": ["a.example.com", "b"]}}
    (warning,) = told(http.patch(f"{path}/a", json=patch, headers={"content-type": MERGE}))
    assert '\\"b\\"' in warning
    http.patch(f"{path}/a", json={"metadata": {"finalizers": []}}, headers={"content-type": MERGE})
