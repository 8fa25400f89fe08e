"""Repeated lists always show the current objects."""

from __future__ import annotations

from typing import Any

import httpx


def listed(http: httpx.Client, namespace: str, **asked: Any) -> tuple[dict[str, str], dict[str, Any]]:
    answer = http.get(f"/api/v1/namespaces/{namespace}/configmaps", params=asked).json()
    assert answer["kind"] == "ConfigMapList"
    return {one["metadata"]["name"]: one["data"]["k"] for one in answer["items"]}, answer["metadata"]


def put(http: httpx.Client, namespace: str, name: str, value: str) -> None:
    path, body = f"/api/v1/namespaces/{namespace}/configmaps", {"metadata": {"name": name}, "data": {"k": value}}
    if http.post(path, json=body).status_code == 409:
        assert http.put(f"{path}/{name}", json=body).status_code == 200


def test_repeated_list_shows_every_change(http: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    everywhere = http.get("/api/v1/configmaps").json()["items"]
    assert listed(http, namespace)[0] == {}
    put(http, namespace, "a", "1")
    assert listed(http, namespace)[0] == listed(http, namespace)[0] == {"a": "1"}
    put(http, namespace, "a", "2")
    put(http, namespace, "b", "1")
    assert listed(http, namespace)[0] == listed(http, namespace)[0] == {"a": "2", "b": "1"}
    assert len(http.get("/api/v1/configmaps").json()["items"]) == len(everywhere) + 2
    assert http.delete(f"{path}/a").status_code == 200
    assert listed(http, namespace)[0] == {"b": "1"}


def test_repeated_list_has_the_newest_revision(http: httpx.Client, namespace: str) -> None:
    put(http, namespace, "a", "1")
    before = listed(http, namespace)[1]
    put(http, "default", f"elsewhere-{namespace}", "1")
    after = listed(http, namespace)[1]
    assert int(after["resourceVersion"]) > int(before["resourceVersion"])
    assert listed(http, namespace)[1] == after


def test_repeated_pages_continue_their_own_list(http: httpx.Client, namespace: str) -> None:
    for name in "abcde":
        put(http, namespace, name, "1")
    first, again = listed(http, namespace, limit=2), listed(http, namespace, limit=2)
    assert first == again
    assert first[1]["remainingItemCount"] == 3
    put(http, namespace, "d", "2")
    new = listed(http, namespace, limit=2)
    assert listed(http, namespace, limit=5, **{"continue": again[1]["continue"]})[0] == {"c": "1", "d": "1", "e": "1"}
    assert listed(http, namespace, limit=5, **{"continue": new[1]["continue"]})[0] == {"c": "1", "d": "2", "e": "1"}


def test_list_has_the_requested_form_whatever_was_requested_before(http: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    put(http, namespace, "a", "1")
    plain = http.get(path)
    assert http.get(path, headers={"accept": "application/yaml"}).text.startswith("kind: ConfigMapList")
    assert http.get(path, headers={"accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}).json()["kind"] == "Table"
    assert http.get(path, params={"pretty": "true"}).content.startswith(b"{\n")
    assert listed(http, namespace, labelSelector="no=such")[0] == {}
    assert http.get(path).content == plain.content
