"""Content negotiation: the forms that clients prefer, and forms that do not exist for a resource."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from support.sample_objects import create_object

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
REVIEW = {"spec": {"nonResourceAttributes": {"verb": "get", "path": "/"}}}
REVIEWS = "/apis/authorization.k8s.io/v1"


@pytest.fixture
def scaled(http: httpx.Client, namespace: str) -> str:
    """The path of a Deployment."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    create_object(http, path, "d", spec={"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template})
    return f"{path}/d"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"{REVIEWS}/selfsubjectaccessreviews", REVIEW),
        (f"{REVIEWS}/subjectaccessreviews", {"spec": {**REVIEW["spec"], "user": "u"}}),
        ("/apis/authentication.k8s.io/v1/selfsubjectreviews", {}),
        ("/api/v1/namespaces/{namespace}/serviceaccounts/s/token", {}),
    ],
    ids=["self", "subject", "whoami", "token"],
)
def test_resource_without_a_table_was_returned_as_is(http: httpx.Client, namespace: str, path: str, body: dict[str, Any]) -> None:
    create_object(http, f"/api/v1/namespaces/{namespace}/serviceaccounts", "s")
    path = path.format(namespace=namespace)
    refused = http.post(path, json=body, headers={"Accept": TABLE})
    assert (refused.status_code, refused.json()["reason"]) == (406, "NotAcceptable")
    else_json = http.post(path, json=body, headers={"Accept": f"{TABLE}, application/json"})
    assert (else_json.status_code, else_json.json()["kind"] == "Table") == (201, False)
    assert http.post(path, json=body, headers={"Accept": METADATA}).json().keys() == {"kind", "apiVersion", "metadata"}


def test_eviction_that_asked_for_a_table_evicted_the_pod(http: httpx.Client, namespace: str) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    create_object(http, pods, "p", spec={"containers": [{"name": "c", "image": "i"}]})
    eviction = {"metadata": {"name": "p"}}
    assert http.post(f"{pods}/p/eviction", json=eviction, headers={"Accept": TABLE}).status_code == 406
    assert "deletionTimestamp" not in http.get(f"{pods}/p").json()["metadata"]


def test_table_of_a_scale_was_the_scale_itself(http: httpx.Client, scaled: str) -> None:
    shown = http.get(f"{scaled}/scale", headers={"Accept": TABLE}).json()
    assert [one["name"] for one in shown["columnDefinitions"]] == ["Name", "Desired", "Available", "Age"]
    assert shown["rows"][0]["cells"][:3] == ["d", 2, 0]
    assert http.get(f"{scaled}/scale", headers={"Accept": METADATA}).json()["kind"] == "PartialObjectMetadata"


def test_watch_list_has_no_tables(http: httpx.Client, configmaps: str) -> None:
    watch = {"watch": "1", "timeoutSeconds": "1"}
    begun = {**watch, "sendInitialEvents": "1", "resourceVersionMatch": "NotOlderThan"}
    create_object(http, configmaps, "a")
    assert http.get(configmaps, params=begun, headers={"Accept": TABLE}).status_code == 406
    response = http.get(configmaps, params=begun, headers={"Accept": f"{TABLE},application/json"})
    assert (response.status_code, '"kind":"Table"' in response.text) == (200, False)
    assert '"kind":"Table"' in http.get(configmaps, params=watch, headers={"Accept": TABLE}).text


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("application/yaml;q=0.1, application/json;q=0.9", "application/json"),
        ("application/yaml;q=0.9, application/json;q=0.1", "application/yaml"),
        ("*/*, application/yaml", "application/yaml"),
        ("application/json;q=x, application/yaml;q=0.9", "application/json"),
        ("application/xml, application/yaml;q=0.1", "application/yaml"),
    ],
    ids=["less", "more", "any", "no-number", "unknown"],
)
def test_client_gets_its_preferred_form(http: httpx.Client, configmaps: str, accept: str, media: str) -> None:
    for path in (configmaps, f"{configmaps}/absent", "/apis", "/api/v1", "/apis/apps"):
        assert http.get(path, headers={"Accept": accept}).headers["content-type"] == media


def test_discovery_in_an_unsupported_form_is_not_acceptable(http: httpx.Client) -> None:
    for path in ("/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1"):
        assert http.get(path, headers={"Accept": "application/xml"}).status_code == 406
        assert http.get(path, headers={"Accept": "application/vnd.kubernetes.protobuf"}).status_code == 200
