"""The common verbs over HTTP: written objects are read, listed and watched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from support.sample_objects import create_object
from support.wait_for_objects import wait_until_gone

MERGE = {"Content-Type": "application/merge-patch+json"}


def events(http: httpx.Client, path: str, expected: int, **params: str) -> list[dict[str, Any]]:
    """Returns the next events of a watch, as many as expected."""
    found: list[dict[str, Any]] = []
    with http.stream("GET", path, params={"watch": "1", "timeoutSeconds": "20", **params}) as answer:
        lines: Iterator[str] = answer.iter_lines()
        while len(found) < expected:
            found.append(json.loads(next(lines)))
    return found


def test_created_object_is_the_one_that_is_read(http: httpx.Client, configmaps: str) -> None:
    created = create_object(http, configmaps, "a", data={"k": "v"})
    assert created["metadata"]["uid"]
    assert created["metadata"]["creationTimestamp"]
    assert http.get(f"{configmaps}/a").json() == created


def test_generated_names_differ(http: httpx.Client, configmaps: str) -> None:
    names = {http.post(configmaps, json={"metadata": {"generateName": "x-"}}).json()["metadata"]["name"] for _ in range(5)}
    assert len(names) == 5
    assert all(name.startswith("x-") and len(name) == 7 for name in names)


def test_dry_run_changes_nothing(http: httpx.Client, configmaps: str) -> None:
    assert http.post(configmaps, params={"dryRun": "All"}, json={"metadata": {"name": "a"}}).status_code == 201
    assert http.get(f"{configmaps}/a").status_code == 404
    before = create_object(http, configmaps, "b", data={"k": "v"})
    patched = http.patch(f"{configmaps}/b", params={"dryRun": "All"}, content='{"data":{"k":"w"}}', headers=MERGE)
    assert patched.json()["data"] == {"k": "w"}
    assert http.get(f"{configmaps}/b").json() == before


def test_dry_run_of_a_create_is_not_refused_for_a_resource_version(http: httpx.Client, configmaps: str) -> None:
    body = {"metadata": {"name": "a", "resourceVersion": "7"}}
    response = http.post(configmaps, params={"dryRun": "All"}, json=body)
    assert response.status_code == 201, response.text
    assert response.json()["metadata"]["resourceVersion"] == "7", "it is answered as it was sent, for nothing was stored"
    assert http.post(configmaps, json=body).status_code == 400
    assert http.get(f"{configmaps}/a").status_code == 404


@pytest.mark.parametrize("text", ["0", "none", "-1", "9" * 40])
def test_create_ignores_a_resource_version_that_is_not_a_revision(http: httpx.Client, configmaps: str, text: str) -> None:
    response = http.post(configmaps, json={"metadata": {"name": "a", "resourceVersion": text}})
    assert response.status_code == 201, response.text
    assert response.json() == http.get(f"{configmaps}/a").json()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"gracePeriodSeconds": "5"}, "gracePeriodSeconds must be of type integer, not string"),
        ({"gracePeriodSeconds": True}, "gracePeriodSeconds must be of type integer, not boolean"),
        ({"orphanDependents": "true"}, "orphanDependents must be of type boolean, not string"),
        ({"propagationPolicy": 1}, "propagationPolicy must be of type string, not number"),
        ({"dryRun": "All"}, "dryRun must be of type array, not string"),
        ({"dryRun": [1]}, "dryRun[0] must be of type string, not number"),
        ({"preconditions": []}, "preconditions must be of type object, not array"),
        ({"preconditions": {"uid": 5}}, "preconditions.uid must be of type string, not number"),
    ],
)
def test_error_for_an_option_of_a_wrong_type_names_the_right_type(
    http: httpx.Client, configmaps: str, options: object, told: str
) -> None:
    create_object(http, configmaps, "a")
    refused = http.request("DELETE", f"{configmaps}/a", json=options)
    assert (refused.status_code, refused.json()["message"]) == (400, f"DeleteOptions: {told}")


def test_error_for_invalid_options_has_no_empty_name(http: httpx.Client, configmaps: str) -> None:
    create_object(http, configmaps, "a")
    refused = http.request("DELETE", f"{configmaps}/a", json={"propagationPolicy": "Never"})
    assert refused.status_code == 422
    assert refused.json()["message"].startswith("DeleteOptions.meta.k8s.io is invalid: propagationPolicy: ")


def test_empty_garbage_collection_policy_means_default(http: httpx.Client, configmaps: str) -> None:
    create_object(http, configmaps, "a")
    assert http.request("DELETE", f"{configmaps}/a", json={"garbageCollectionPolicy": ""}).status_code == 200
    create_object(http, configmaps, "b")
    assert http.delete(f"{configmaps}/b", params={"garbageCollectionPolicy": ""}).status_code == 200


def test_update_after_a_concurrent_modification_is_a_conflict(http: httpx.Client, configmaps: str) -> None:
    first = create_object(http, configmaps, "a", data={"k": "1"})
    second = http.put(f"{configmaps}/a", json={**first, "data": {"k": "2"}})
    assert second.status_code == 200
    assert http.put(f"{configmaps}/a", json={**first, "data": {"k": "3"}}).status_code == 409
    assert http.get(f"{configmaps}/a").json() == second.json()


def test_update_that_changes_nothing_writes_nothing(http: httpx.Client, configmaps: str) -> None:
    first = create_object(http, configmaps, "a", data={"k": "1"})
    assert http.put(f"{configmaps}/a", json=first).json()["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_status_and_spec_are_written_separately(http: httpx.Client, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/pods"
    pod = create_object(http, path, "p", spec={"containers": [{"name": "c", "image": "i"}]})
    assert pod["status"]["phase"] == "Pending"
    http.patch(f"{path}/p", content='{"status":{"phase":"Running"},"metadata":{"labels":{"a":"b"}}}', headers=MERGE)
    assert http.get(f"{path}/p").json()["status"]["phase"] == "Pending"
    http.patch(f"{path}/p/status", content='{"status":{"phase":"Running"},"spec":{"nodeName":"n"}}', headers=MERGE)
    now = http.get(f"{path}/p").json()
    assert now["status"]["phase"] == "Running"
    assert "nodeName" not in now["spec"]
    assert now["metadata"]["labels"] == {"a": "b"}


def test_selectors_filter_lists(http: httpx.Client, configmaps: str) -> None:
    for name, label in (("a", "x"), ("b", "y"), ("c", "x")):
        create_object(http, configmaps, name, metadata={"labels": {"l": label}})

    def names(**params: str) -> list[str]:
        return [item["metadata"]["name"] for item in http.get(configmaps, params=params).json()["items"]]

    assert names(labelSelector="l=x") == ["a", "c"]
    assert names(labelSelector="l notin (x)") == ["b"]
    assert names(fieldSelector="metadata.name=b") == ["b"]
    assert names(labelSelector="l=x", limit="1") == ["a"]


def test_watch_shows_each_change_once_and_in_order(http: httpx.Client, configmaps: str) -> None:
    start = http.get(configmaps).json()["metadata"]["resourceVersion"]
    create_object(http, configmaps, "a", metadata={"labels": {"l": "x"}})
    http.patch(f"{configmaps}/a", content='{"data":{"k":"v"}}', headers=MERGE)
    http.delete(f"{configmaps}/a")
    found = events(http, configmaps, 3, resourceVersion=start)
    assert [event["type"] for event in found] == ["ADDED", "MODIFIED", "DELETED"]
    revisions = [int(event["object"]["metadata"]["resourceVersion"]) for event in found]
    assert revisions == sorted(set(revisions))
    assert found[2]["object"]["data"] == {"k": "v"}


def test_object_that_stops_matching_is_deleted_for_that_watcher(http: httpx.Client, configmaps: str) -> None:
    start = http.get(configmaps).json()["metadata"]["resourceVersion"]
    create_object(http, configmaps, "a", metadata={"labels": {"l": "x"}})
    http.patch(f"{configmaps}/a", content='{"metadata":{"labels":{"l":"y"}}}', headers=MERGE)
    http.patch(f"{configmaps}/a", content='{"metadata":{"labels":{"l":"x"}}}', headers=MERGE)
    found = events(http, configmaps, 3, resourceVersion=start, labelSelector="l=x")
    assert [event["type"] for event in found] == ["ADDED", "DELETED", "ADDED"]


def test_watch_without_a_resource_version_begins_with_the_current_objects(http: httpx.Client, configmaps: str) -> None:
    create_object(http, configmaps, "a")
    params = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    found = events(http, configmaps, 2, **params)
    assert [event["type"] for event in found] == ["ADDED", "BOOKMARK"]
    assert found[1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_finalizer_holds_a_deleted_object_until_it_is_removed(http: httpx.Client, configmaps: str) -> None:
    create_object(http, configmaps, "a", metadata={"finalizers": ["example.com/hold"]})
    deleted = http.delete(f"{configmaps}/a")
    assert (deleted.status_code, deleted.json()["kind"]) == (200, "ConfigMap")
    assert http.get(f"{configmaps}/a").json()["metadata"]["deletionTimestamp"]
    http.patch(f"{configmaps}/a", content='{"metadata":{"finalizers":null}}', headers=MERGE)
    assert http.get(f"{configmaps}/a").status_code == 404


def test_scale_changes_replicas_of_the_object_behind_it(http: httpx.Client, namespace: str) -> None:
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    create_object(http, path, "d", spec={"selector": {"matchLabels": {"a": "b"}}, "template": template})
    scale = http.get(f"{path}/d/scale").json()
    assert (scale["kind"], scale["spec"]["replicas"], scale["status"]["selector"]) == ("Scale", 1, "a=b")
    del scale["metadata"]["resourceVersion"]  # whatever the Deployment's controller has written to it meanwhile
    assert http.put(f"{path}/d/scale", json={**scale, "spec": {"replicas": 4}}).status_code == 200
    now = http.get(f"{path}/d").json()
    assert (now["spec"]["replicas"], now["metadata"]["generation"]) == (4, 2)


def test_custom_kind_is_served_validated_and_printed_at_once(http: httpx.Client, namespace: str) -> None:
    group = f"{namespace}.example.com"
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["size"],
                "properties": {"size": {"type": "integer", "minimum": 1}, "color": {"type": "string", "default": "red"}},
            }
        },
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
    }
    names = {"plural": "things", "kind": "Thing"}
    definition = {
        "metadata": {"name": f"things.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    assert http.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json=definition).status_code == 201
    path = f"/apis/{group}/v1/namespaces/{namespace}/things"
    thing = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"size": 3, "odd": True}}
    created = http.post(path, json=thing)
    assert created.status_code == 201, created.text
    assert created.json()["spec"] == {"size": 3, "color": "red"}
    assert created.json()["metadata"]["generation"] == 1
    refused = http.post(path, json=thing | {"metadata": {"name": "u"}, "spec": {"size": 0}})
    assert [cause["field"] for cause in refused.json()["details"]["causes"]] == ["spec.size"]
    table = http.get(path, headers={"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}).json()
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Size"]
    assert table["rows"][0]["cells"] == ["t", 3]
    assert f"apis/{group}/v1" in http.get("/openapi/v3").json()["paths"]
    assert http.delete(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{group}").status_code == 200
    wait_until_gone(http, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", f"things.{group}")
    while http.get(path).status_code != 404:  # the server learns of it a moment later
        pass


def test_body_over_the_limit_is_rejected(http: httpx.Client, configmaps: str) -> None:
    answer = http.post(configmaps, content=b'{"data":{"k":"' + b"x" * (3 * 1024 * 1024) + b'"}}')
    assert (answer.status_code, answer.json()["reason"]) == (413, "RequestEntityTooLarge")


@pytest.mark.parametrize(
    ("body", "media"),
    [
        (b"[" * 5000, "application/json"),
        (b'{"a":' * 900 + b"1" + b"}" * 900, "application/json"),
        (
            b"a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n" + b"".join(b"d%d: &d%d [*c, *c]\n" % (n, n) for n in range(3)),
            "application/yaml",
        ),
        (b"a: &x [*x]", "application/yaml"),
        (b"%", "application/yaml"),
    ],
)
def test_hostile_objects_are_bad_requests(http: httpx.Client, configmaps: str, body: bytes, media: str) -> None:
    answer = http.post(configmaps, content=body, headers={"Content-Type": media})
    assert answer.status_code in {400, 422}
    assert answer.json()["kind"] == "Status"
