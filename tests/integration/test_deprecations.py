"""Deprecated versions send a warning with every response."""

from __future__ import annotations

import httpx
import pytest

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "deprecated.example.com"
ENDPOINTS = '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"'


def version(name: str, **more: object) -> dict[str, object]:
    schema = {"openAPIV3Schema": {"type": "object"}}
    return {"name": name, "served": True, "storage": name == "v1", "schema": schema, **more}


@pytest.fixture
def things(http: httpx.Client) -> str:
    versions = [
        version("v1"),
        version("v1beta1", deprecated=True),
        version("v1beta2", deprecated=True, deprecationWarning="use v1"),
    ]
    names = {"plural": "things", "kind": "Thing"}
    spec = {"group": GROUP, "scope": "Cluster", "names": names, "versions": versions}
    answer = http.post(DEFINITIONS, json={"metadata": {"name": f"things.{GROUP}"}, "spec": spec})
    assert answer.status_code in {201, 409}, answer.text
    return f"/apis/{GROUP}"


def test_deprecated_custom_version_sends_a_warning(http: httpx.Client, things: str) -> None:
    for name, expected in (
        ("v1", None),
        ("v1beta1", f'299 - "{GROUP}/v1beta1 Thing is deprecated"'),
        ("v1beta2", '299 - "use v1"'),
    ):
        path, about = f"{things}/{name}/things", {"apiVersion": f"{GROUP}/{name}", "kind": "Thing"}
        made = http.post(path, json={**about, "metadata": {"name": "one"}})
        answers = [made, http.get(path), http.get(f"{path}/one"), http.delete(f"{path}/one")]
        assert [answer.status_code for answer in answers] == [201, 200, 200, 200]
        assert [answer.headers.get("warning") for answer in answers] == [expected] * 4


def test_deprecated_builtin_version_sends_a_warning(http: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/endpoints"
    assert http.get(path).headers["warning"] == ENDPOINTS
    assert http.post(path, json={"metadata": {"name": "a"}}).headers["warning"] == ENDPOINTS
    with http.stream("GET", path, params={"watch": "1", "timeoutSeconds": "1"}) as answer:
        assert answer.headers["warning"] == ENDPOINTS
    assert "warning" not in http.get(f"/api/v1/namespaces/{namespace}/services").headers
