"""Options of any request, and paths that are not resources."""

from __future__ import annotations

import httpx
import pytest


@pytest.mark.parametrize(
    "timeout", ["30s", "1m30s", "5m1s", "1h0m0s", "1.5h", ".5s", "1500ms", "100000us", "100000µs", "0s", "0", "32"]
)
def test_timeout_durations_are_parsed(http: httpx.Client, timeout: str) -> None:
    for verb in ({}, {"watch": "1", "timeoutSeconds": "1"}):
        with http.stream("GET", "/api/v1/namespaces", params={"timeout": timeout, **verb}) as answer:
            assert answer.status_code == 200


@pytest.mark.parametrize("timeout", ["1 m", "m", "-1s", "1d", "s30", "1m30", "1s" * 1_000])
def test_invalid_timeout_is_rejected(http: httpx.Client, timeout: str) -> None:
    answer = http.get("/api/v1/namespaces", params={"timeout": timeout})
    assert (answer.status_code, answer.json()["reason"]) == (400, "BadRequest")
    assert "1m30s" in answer.json()["message"]


def test_root_lists_all_paths(http: httpx.Client) -> None:
    paths = http.get("/").json()["paths"]
    assert {
        "/api",
        "/api/v1",
        "/apis",
        "/apis/apps",
        "/apis/apps/v1",
        "/healthz",
        "/readyz/etcd",
        "/openapi/v3",
        "/version",
    } <= set(paths)
    assert paths == sorted(paths)
    assert all(http.get(path).status_code == 200 for path in paths)
    assert http.post("/").status_code == 405


def test_excluded_health_checks_do_not_run(http: httpx.Client) -> None:
    response = http.get("/readyz", params={"verbose": "", "exclude": ["store", "nothing"]})
    assert response.status_code == 200
    assert {"[+]ping ok", "[+]store excluded: ok", "[+]garbage-collector-controller ok"} <= set(response.text.splitlines())


@pytest.mark.parametrize("name", ["ping", "log", "etcd"])
def test_kubernetes_names_of_health_checks_were_unknown(http: httpx.Client, name: str) -> None:
    for endpoint in ("healthz", "livez", "readyz"):
        assert http.get(f"/{endpoint}/{name}").text == "ok"
        if (endpoint, name) != ("livez", "etcd"):
            assert f"[+]{name} ok" in http.get(f"/{endpoint}", params={"verbose": "1"}).text.splitlines()


def test_health_checks_without_an_implementation_were_listed_as_ok(http: httpx.Client) -> None:
    told = {endpoint: http.get(f"/{endpoint}", params={"verbose": ""}).text for endpoint in ("healthz", "livez", "readyz")}
    listed = {endpoint: [line.split()[0].removeprefix("[+]") for line in text.splitlines()[:-1]] for endpoint, text in told.items()}
    assert listed["livez"] == ["ping", "log"]
    assert listed["readyz"] == listed["healthz"] == ["ping", "log", "etcd", "store", "garbage-collector-controller"]
    assert http.get("/readyz/poststarthook/rbac/bootstrap-roles").status_code == 404


@pytest.mark.parametrize("path", ["/version", "/healthz", "/api", "/apis/apps/v1", "/openapi/v3", "/api/v1/namespaces", "/metrics"])
def test_invalid_timeout_was_ignored_on_fast_paths(http: httpx.Client, path: str) -> None:
    answer = http.get(path, params={"timeout": "invalid"})
    assert (answer.status_code, answer.json()["reason"]) == (400, "BadRequest")
    assert "invalid timeout specified in the request URL" in answer.json()["message"]
    assert http.get(path, params={"timeout": "3m"}).status_code == 200


def test_get_at_a_future_revision_returned_an_older_object(http: httpx.Client, configmaps: str) -> None:
    made = http.post(configmaps, json={"metadata": {"name": "a"}}).json()
    revision = int(made["metadata"]["resourceVersion"])
    for reached in ("0", str(revision), "1"):
        assert http.get(f"{configmaps}/a", params={"resourceVersion": reached}).json() == made
    ahead = http.get(f"{configmaps}/a", params={"resourceVersion": str(revision + 1_000_000)})
    assert (ahead.status_code, ahead.json()["details"]["causes"][0]["reason"]) == (504, "ResourceVersionTooLarge")
    assert http.get(f"{configmaps}/a", params={"resourceVersion": "x"}).status_code == 400


@pytest.mark.parametrize(
    ("method", "path", "shape", "hint"),
    [
        ("GET", "", "PartialObjectMetadata", "ask for PartialObjectMetadataList"),
        ("GET", "/a", "PartialObjectMetadataList", "ask for PartialObjectMetadata"),
        ("GET", "?watch=1", "PartialObjectMetadataList", "ask for PartialObjectMetadata"),
        ("POST", "", "PartialObjectMetadataList", "ask for PartialObjectMetadata"),
    ],
)
def test_partial_metadata_of_the_wrong_shape_was_returned(
    http: httpx.Client, configmaps: str, method: str, path: str, shape: str, hint: str
) -> None:
    http.post(configmaps, json={"metadata": {"name": "a"}}).raise_for_status()
    accept = {"Accept": f"application/json;as={shape};g=meta.k8s.io;v=v1"}
    answer = http.request(
        method, f"{configmaps}{path}", json={"metadata": {"name": "b"}} if method == "POST" else None, headers=accept
    )
    assert (answer.status_code, answer.json()["reason"]) == (406, "NotAcceptable")
    assert answer.json()["message"].endswith(hint)
    assert [one["metadata"]["name"] for one in http.get(configmaps).json()["items"]] == ["a"]


def test_invalid_utf_8_is_rejected(http: httpx.Client, configmaps: str) -> None:
    body = b'{"metadata":{"name":"a"},"data":{"x":"\xff"}}'
    assert http.post(configmaps, content=body, headers={"Content-Type": "application/json"}).status_code == 400
