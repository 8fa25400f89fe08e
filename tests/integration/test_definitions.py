"""CRDs are deleted together with all objects of their kind, and report what blocks them while they cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from support.wait_for_objects import condition, serving, wait_until, wait_until_gone

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
HOLD = "example.com/hold"


class Custom:
    """A custom kind and its API paths."""

    def __init__(self, http: httpx.Client, group: str, *, scope: str = "Namespaced") -> None:
        self.http = http
        self.group = group
        self.name = f"things.{group}"
        self.everywhere = f"/apis/{group}/v1/things"
        self._scope = scope

    def define(self) -> None:
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        names = {"plural": "things", "kind": "Thing"}
        spec = {"group": self.group, "scope": self._scope, "names": names, "versions": [version]}
        answer = self.http.post(DEFINITIONS, json={"metadata": {"name": self.name}, "spec": spec})
        assert answer.status_code == 201, answer.text

    def path(self, namespace: str) -> str:
        return f"/apis/{self.group}/v1/namespaces/{namespace}/things" if namespace else self.everywhere

    def body(self, name: str, **meta: Any) -> dict[str, Any]:
        return {"apiVersion": f"{self.group}/v1", "kind": "Thing", "metadata": {"name": name, **meta}}

    def make(self, namespace: str, name: str, **meta: Any) -> dict[str, Any]:
        answer = self.http.post(self.path(namespace), json=self.body(name, **meta))
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()
        return made

    def until_gone(self) -> None:
        wait_until_gone(self.http, DEFINITIONS, self.name)
        while self.http.get(self.everywhere).status_code != 404:  # the server learns of it a moment later
            pass


@pytest.fixture
def things(http: httpx.Client, namespace: str) -> Custom:
    custom = Custom(http, f"{namespace}.example.com")
    custom.define()
    return custom


def release(http: httpx.Client, path: str) -> None:
    answer = http.patch(path, json={"metadata": {"finalizers": None}}, headers={"Content-Type": "application/merge-patch+json"})
    assert answer.status_code == 200, answer.text


def is_held(now: dict[str, Any] | None) -> bool:
    return condition(now, "Terminating").get("reason") == "InstanceDeletionInProgress"


def test_crd_without_objects_is_deleted_with_its_kind(http: httpx.Client, things: Custom) -> None:
    deleted = http.delete(f"{DEFINITIONS}/{things.name}")
    assert deleted.status_code == 200
    assert condition(deleted.json(), "Terminating")["reason"] == "InstanceDeletionPending"
    things.until_gone()


@pytest.mark.parametrize("scope", ["Namespaced", "Cluster"])
def test_objects_are_deleted_with_their_crd_and_do_not_reappear_with_it(http: httpx.Client, namespace: str, scope: str) -> None:
    things = Custom(http, f"{scope.lower()}.{namespace}.example.com", scope=scope)
    things.define()
    place = namespace if scope == "Namespaced" else ""
    for number in range(50):
        things.make(place, f"t{number}")
    http.delete(f"{DEFINITIONS}/{things.name}")
    things.until_gone()
    things.define()
    assert http.get(things.everywhere).json()["items"] == []
    things.make(place, "t1")


def test_objects_with_finalizers_keep_their_crd_and_its_status_says_so(http: httpx.Client, namespace: str, things: Custom) -> None:
    things.make(namespace, "held", finalizers=[HOLD])
    things.make(namespace, "free")
    http.delete(f"{DEFINITIONS}/{things.name}")
    now = wait_until(http, DEFINITIONS, things.name, holds=is_held)
    told = condition(now, "Terminating")
    assert told["status"] == "True"
    assert told["message"] == f"1 objects of the kind are remaining; finalizers are remaining: {HOLD} in 1 resource instances"
    assert [one["metadata"]["name"] for one in http.get(things.everywhere).json()["items"]] == ["held"]
    release(http, f"{things.path(namespace)}/held")
    things.until_gone()


def test_objects_cannot_be_created_while_their_crd_is_deleting(http: httpx.Client, namespace: str, things: Custom) -> None:
    things.make(namespace, "held", finalizers=[HOLD])
    http.delete(f"{DEFINITIONS}/{things.name}")
    refused = http.post(things.path(namespace), json=things.body("new"))
    assert (refused.status_code, refused.json()["reason"]) == (403, "Forbidden")
    wait_until(http, DEFINITIONS, things.name, holds=is_held)
    held = http.get(f"{things.path(namespace)}/held").json()
    assert http.put(f"{things.path(namespace)}/held", json={**held, "spec": {}}).status_code == 200
    release(http, f"{things.path(namespace)}/held")
    things.until_gone()
    assert http.post(things.path(namespace), json=things.body("new")).status_code == 404


def test_object_in_foreground_deletion_waits_for_its_dependents(http: httpx.Client, namespace: str, things: Custom) -> None:
    owner = things.make(namespace, "owner", finalizers=["foregroundDeletion"])
    reference = {"apiVersion": f"{things.group}/v1", "kind": "Thing", "name": "owner", "uid": owner["metadata"]["uid"]}
    configmaps = f"/api/v1/namespaces/{namespace}/configmaps"
    meta = {"name": "c", "finalizers": [HOLD], "ownerReferences": [{**reference, "blockOwnerDeletion": True}]}
    assert http.post(configmaps, json={"metadata": meta}).status_code == 201
    http.delete(f"{DEFINITIONS}/{things.name}")
    wait_until(http, configmaps, "c", holds=lambda now: now is not None and "deletionTimestamp" in now["metadata"])
    assert http.get(f"{things.path(namespace)}/owner").json()["metadata"]["finalizers"] == ["foregroundDeletion"]
    release(http, f"{configmaps}/c")
    things.until_gone()


def test_dependents_of_the_objects_are_collected(http: httpx.Client, namespace: str, things: Custom) -> None:
    owner = things.make(namespace, "owner")
    reference = {"apiVersion": f"{things.group}/v1", "kind": "Thing", "name": "owner", "uid": owner["metadata"]["uid"]}
    configmaps = f"/api/v1/namespaces/{namespace}/configmaps"
    assert http.post(configmaps, json={"metadata": {"name": "c", "ownerReferences": [reference]}}).status_code == 201
    http.delete(f"{DEFINITIONS}/{things.name}")
    wait_until_gone(http, configmaps, "c")
    things.until_gone()


def test_crd_whose_finalizers_were_removed_is_deleted_with_its_last_object(
    http: httpx.Client, namespace: str, things: Custom
) -> None:
    things.make(namespace, "held", finalizers=[HOLD])
    http.delete(f"{DEFINITIONS}/{things.name}")
    wait_until(http, DEFINITIONS, things.name, holds=is_held)
    release(http, f"{DEFINITIONS}/{things.name}")
    assert http.get(f"{things.path(namespace)}/held").status_code == 200
    release(http, f"{things.path(namespace)}/held")
    things.until_gone()


def test_foreign_finalizer_keeps_a_crd_without_objects(http: httpx.Client, namespace: str, things: Custom) -> None:
    things.make(namespace, "t")
    patch = {"metadata": {"finalizers": [HOLD]}}
    media = {"Content-Type": "application/merge-patch+json"}
    assert http.patch(f"{DEFINITIONS}/{things.name}", json=patch, headers=media).status_code == 200
    http.delete(f"{DEFINITIONS}/{things.name}")
    now = wait_until(http, DEFINITIONS, things.name, holds=lambda now: now is None or now["metadata"]["finalizers"] == [HOLD])
    assert (condition(now, "Terminating")["status"], condition(now, "Terminating")["reason"]) == (
        "False",
        "InstanceDeletionCompleted",
    )
    assert http.post(things.path(namespace), json=things.body("new")).status_code == 403
    release(http, f"{DEFINITIONS}/{things.name}")
    things.until_gone()


def test_crd_deletion_continues_after_a_restart(tmp_path: Path) -> None:
    with serving("sqlite:store.db", tmp_path) as served:
        things = Custom(served.http, "example.com")
        things.define()
        things.make("default", "held", finalizers=[HOLD])
        for number in range(200):
            things.make("default", f"t{number}")
        served.http.delete(f"{DEFINITIONS}/{things.name}")
        served.kill()
    with serving("sqlite:store.db", tmp_path) as served:
        things = Custom(served.http, "example.com")
        wait_until(
            served.http,
            DEFINITIONS,
            things.name,
            holds=lambda now: is_held(now) and "1 objects" in condition(now, "Terminating")["message"],
        )
        release(served.http, f"{things.path('default')}/held")
        things.until_gone()
