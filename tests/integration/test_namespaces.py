"""Namespaces are deleted completely with their content, and report what blocks them."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from probate.store import pagination
from probate.store.sqlite.store import open_file
from support.wait_for_objects import condition, serving, wait_until, wait_until_gone

NAMESPACES = "/api/v1/namespaces"
HOLD = "example.com/hold"
CONTAINERS = {"containers": [{"name": "c", "image": "i"}]}


def make(http: httpx.Client, path: str, name: str, *, finalizers: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
    answer = http.post(path, json={"metadata": {"name": name, "finalizers": list(finalizers)}, **fields})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def release(http: httpx.Client, path: str) -> None:
    answer = http.patch(path, json={"metadata": {"finalizers": None}}, headers={"Content-Type": "application/merge-patch+json"})
    assert answer.status_code == 200, answer.text


def remaining(now: dict[str, Any] | None) -> bool:
    return condition(now, "NamespaceContentRemaining").get("status") == "True"


async def keys_of(path: Path, namespace: str) -> list[str]:
    """Returns all keys of the namespace in the store of a stopped server."""
    store = await open_file(path)
    try:
        keys = [
            record.key
            for family in ("objects/", "owned/", "blocking/")
            async for page in pagination.pages(store, family)
            for record in page.records
        ]
        return [key for key in keys if f"/{namespace}/" in key or key.endswith(f"/namespaces/-/{namespace}")]
    finally:
        await store.close()


def define(http: httpx.Client, group: str, *, scope: str = "Namespaced") -> str:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"plural": "things", "kind": "Thing"}
    definition = {
        "metadata": {"name": f"things.{group}"},
        "spec": {"group": group, "scope": scope, "names": names, "versions": [version]},
    }
    assert http.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json=definition).status_code == 201
    return f"/apis/{group}/v1"


def test_empty_namespace_is_deleted_and_can_be_recreated(http: httpx.Client, namespace: str) -> None:
    """Immediately, not after some seconds. (NS-6, NS-15)"""
    first = http.delete(f"{NAMESPACES}/{namespace}")
    assert (first.status_code, first.json()["status"]["phase"]) == (200, "Terminating")
    wait_until_gone(http, NAMESPACES, namespace)
    again = make(http, NAMESPACES, namespace)
    assert again["metadata"]["uid"] != first.json()["metadata"]["uid"]
    make(http, f"{NAMESPACES}/{namespace}/configmaps", "c")


async def test_namespace_full_of_many_kinds_leaves_nothing_in_the_store(tmp_path: Path) -> None:
    """The content is found without knowing which kinds are served. (NS-11, NS-12)"""
    with serving("sqlite:store.db", tmp_path) as served:
        http = served.http
        make(http, NAMESPACES, "full")
        make(http, NAMESPACES, "other")
        inside = f"{NAMESPACES}/full"
        things = f"{define(http, 'full.example.com')}/namespaces/full/things"
        owner = make(http, f"{inside}/configmaps", "owner")
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
        for number in range(30):
            make(http, f"{inside}/configmaps", f"c{number}")
            make(http, f"{inside}/secrets", f"s{number}", finalizers=("orphan",))
            make(http, f"{inside}/pods", f"p{number}", spec=CONTAINERS)
            owned = {"metadata": {"name": f"t{number}", "ownerReferences": [reference]}, "apiVersion": "full.example.com/v1"}
            assert http.post(things, json=owned | {"kind": "Thing"}).status_code == 201
        make(http, f"{inside}/events", "e", involvedObject={"namespace": "full"})
        make(http, "/apis/apps/v1/namespaces/full/deployments", "d", spec=deployment())
        make(http, f"{NAMESPACES}/other/configmaps", "mine")
        http.delete(inside)
        wait_until_gone(http, NAMESPACES, "full")
        assert http.get(f"{NAMESPACES}/other/configmaps/mine").status_code == 200
        assert http.get(things).json()["items"] == []
        served.kill()
    assert await keys_of(tmp_path / "store.db", "full") == []


def deployment() -> dict[str, Any]:
    labels = {"app": "a"}
    return {"replicas": 1, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": CONTAINERS}}


def test_other_content_is_not_deleted_while_a_pod_remains(http: httpx.Client, namespace: str) -> None:
    """Pods go first (NS-13), and the conditions name them (NS-20)."""
    inside = f"{NAMESPACES}/{namespace}"
    make(http, f"{inside}/pods", "held", finalizers=(HOLD,), spec=CONTAINERS)
    make(http, f"{inside}/pods", "free", spec=CONTAINERS)
    make(http, f"{inside}/configmaps", "settings")
    http.delete(inside)
    now = wait_until(http, NAMESPACES, namespace, holds=remaining)
    assert condition(now, "NamespaceContentRemaining")["message"] == "Some resources are remaining: pods. has 1 resource instances"
    assert http.get(f"{inside}/pods/free").status_code == 404
    assert "deletionTimestamp" not in http.get(f"{inside}/configmaps/settings").json()["metadata"]
    release(http, f"{inside}/pods/held")
    wait_until_gone(http, NAMESPACES, namespace)


def test_terminating_pod_keeps_the_namespace(http: httpx.Client, namespace: str) -> None:
    """Pods keep their grace period. (NS-17)"""
    inside = f"{NAMESPACES}/{namespace}"
    make(http, f"{inside}/pods", "running", spec={**CONTAINERS, "nodeName": "n"})
    make(http, f"{inside}/configmaps", "settings")
    http.delete(inside)
    wait_until(http, NAMESPACES, namespace, holds=remaining)
    assert http.get(f"{inside}/pods/running").json()["metadata"]["deletionGracePeriodSeconds"] == 30
    assert http.get(f"{inside}/configmaps/settings").status_code == 200
    http.delete(f"{inside}/pods/running", params={"gracePeriodSeconds": "0"})
    wait_until_gone(http, NAMESPACES, namespace)


def test_blocked_namespace_reports_what_blocks_it(http: httpx.Client, namespace: str) -> None:
    """All conditions are present, in this order (NS-18), and say how much is left (NS-19)."""
    inside = f"{NAMESPACES}/{namespace}"
    make(http, f"{inside}/configmaps", "one", finalizers=(HOLD,))
    make(http, f"{inside}/configmaps", "two", finalizers=(HOLD, "example.com/more"))
    make(http, f"{inside}/secrets", "three", finalizers=(HOLD,))
    make(http, f"{inside}/secrets", "free")
    http.delete(inside)
    now = wait_until(http, NAMESPACES, namespace, holds=remaining)
    assert now is not None
    told = {one["type"]: (one["status"], one["reason"]) for one in now["status"]["conditions"]}
    assert list(told.items()) == [
        ("NamespaceDeletionDiscoveryFailure", ("False", "ResourcesDiscovered")),
        ("NamespaceDeletionGroupVersionParsingFailure", ("False", "ParsedGroupVersions")),
        ("NamespaceDeletionContentFailure", ("False", "ContentDeleted")),
        ("NamespaceContentRemaining", ("True", "SomeResourcesRemain")),
        ("NamespaceFinalizersRemaining", ("True", "SomeFinalizersRemain")),
    ]
    left = "Some resources are remaining: configmaps. has 2 resource instances, secrets. has 1 resource instances"
    assert condition(now, "NamespaceContentRemaining")["message"] == left
    by = f"Some finalizers are remaining: {HOLD} in 3 resource instances, example.com/more in 1 resource instances"
    assert condition(now, "NamespaceFinalizersRemaining")["message"] == by
    release(http, f"{inside}/configmaps/two")
    wait_until(
        http,
        NAMESPACES,
        namespace,
        holds=lambda now: "configmaps. has 1 " in condition(now, "NamespaceContentRemaining")["message"],
    )
    release(http, f"{inside}/configmaps/one")
    release(http, f"{inside}/secrets/three")
    wait_until_gone(http, NAMESPACES, namespace)


def test_terminating_namespace_accepts_updates_but_no_creates(http: httpx.Client, namespace: str) -> None:
    """NS-2."""
    inside = f"{NAMESPACES}/{namespace}"
    held = make(http, f"{inside}/configmaps", "held", finalizers=(HOLD,))
    http.delete(inside)
    wait_until(http, NAMESPACES, namespace, holds=remaining)
    refused = http.post(f"{inside}/configmaps", json={"metadata": {"name": "new"}})
    assert (refused.status_code, refused.json()["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")
    now = http.get(f"{inside}/configmaps/held").json()
    assert now["metadata"]["uid"] == held["metadata"]["uid"]
    assert http.put(f"{inside}/configmaps/held", json={**now, "data": {"k": "v"}}).status_code == 200
    assert http.delete(f"{inside}/configmaps/held").status_code == 200
    release(http, f"{inside}/configmaps/held")
    wait_until_gone(http, NAMESPACES, namespace)


def test_foreground_deletion_stops_waiting_when_the_namespace_is_deleted(http: httpx.Client, namespace: str) -> None:
    """Content is deleted in the background, whatever propagation policy it had before. (NS-14)"""
    inside = f"{NAMESPACES}/{namespace}"
    owner = make(http, f"{inside}/configmaps", "owner")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    blocking = [{**reference, "blockOwnerDeletion": True}]
    body = {"metadata": {"name": "dependent", "finalizers": [HOLD], "ownerReferences": blocking}}
    assert http.post(f"{inside}/secrets", json=body).status_code == 201
    assert http.delete(f"{inside}/configmaps/owner", params={"propagationPolicy": "Foreground"}).status_code == 200
    http.delete(inside)
    wait_until_gone(http, f"{inside}/configmaps", "owner")
    release(http, f"{inside}/secrets/dependent")
    wait_until_gone(http, NAMESPACES, namespace)


def test_namespace_finalized_by_hand_is_removed_with_its_last_content(http: httpx.Client, namespace: str) -> None:
    """Content is never left behind, even without the content finalizer. (NS-10)"""
    inside = f"{NAMESPACES}/{namespace}"
    make(http, f"{inside}/configmaps", "held", finalizers=(HOLD,))
    http.delete(inside)
    now = wait_until(http, NAMESPACES, namespace, holds=remaining)
    assert now is not None
    finalized = http.put(f"{inside}/finalize", json={**now, "spec": {"finalizers": []}})
    assert finalized.status_code == 200
    assert http.get(inside).json()["spec"].get("finalizers", []) == []
    assert http.delete(inside).status_code == 200
    assert http.get(f"{inside}/configmaps/held").status_code == 200
    release(http, f"{inside}/configmaps/held")
    wait_until_gone(http, NAMESPACES, namespace)


def test_foreign_finalizer_in_spec_keeps_the_empty_namespace(http: httpx.Client, namespace: str) -> None:
    """Only the namespace controller's finalizer is removed; the others are sorted then. (NS-16)"""
    inside = f"{NAMESPACES}/{namespace}"
    now = http.get(inside).json()
    changed = http.put(f"{inside}/finalize", json={**now, "spec": {"finalizers": ["kubernetes", "example.com/b", "example.com/a"]}})
    assert changed.status_code == 200, changed.text
    make(http, f"{inside}/configmaps", "c")
    http.delete(inside)
    now = wait_until(http, NAMESPACES, namespace, holds=lambda now: now is None or "kubernetes" not in now["spec"]["finalizers"])
    assert now is not None
    assert now["spec"]["finalizers"] == ["example.com/a", "example.com/b"]
    assert http.get(f"{inside}/configmaps").json()["items"] == []
    assert http.put(f"{inside}/finalize", json={**now, "spec": {}}).status_code == 200
    assert http.get(inside).status_code == 404


def test_finalizers_in_metadata_keep_the_empty_namespace(http: httpx.Client, namespace: str) -> None:
    """It is removed when it has finalizers of neither kind. (NS-5)"""
    held = f"{namespace}-held"
    make(http, NAMESPACES, held, finalizers=(HOLD,))
    make(http, f"{NAMESPACES}/{held}/configmaps", "c", finalizers=(HOLD,))
    http.delete(f"{NAMESPACES}/{held}")
    wait_until(http, NAMESPACES, held, holds=remaining)
    release(http, f"{NAMESPACES}/{held}/configmaps/c")
    now = wait_until(http, NAMESPACES, held, holds=lambda now: now is None or not now["spec"].get("finalizers"))
    assert now is not None
    assert {one["status"] for one in now["status"]["conditions"]} == {"False"}
    release(http, f"{NAMESPACES}/{held}")
    assert http.get(f"{NAMESPACES}/{held}").status_code == 404


@pytest.mark.parametrize("policy", ["Background", "Foreground", "Orphan"])
def test_content_is_deleted_whatever_the_propagation_policy_of_the_namespace(
    http: httpx.Client, namespace: str, policy: str
) -> None:
    make(http, f"{NAMESPACES}/{namespace}/configmaps", "c")
    assert http.delete(f"{NAMESPACES}/{namespace}", params={"propagationPolicy": policy}).status_code == 200
    wait_until_gone(http, NAMESPACES, namespace)


class Creator(threading.Thread):
    """Creates objects in a namespace as fast as possible, until creates are rejected."""

    def __init__(self, base: httpx.URL, namespace: str, number: int) -> None:
        super().__init__()
        self.base, self.namespace, self.number = base, namespace, number
        self.made = 0
        self.codes: set[int] = set()

    def run(self) -> None:
        with httpx.Client(base_url=self.base, timeout=60) as http:
            while not self.codes & {403, 404}:
                name = f"{self.number}-{self.made}"
                answer = http.post(f"{NAMESPACES}/{self.namespace}/configmaps", json={"metadata": {"name": name}})
                self.codes.add(answer.status_code)
                self.made += answer.status_code == 201


async def test_objects_created_while_the_namespace_terminates_are_not_left_behind(tmp_path: Path) -> None:
    with serving("sqlite:store.db", tmp_path) as served:
        for round_ in range(10):
            name = f"round-{round_}"
            make(served.http, NAMESPACES, name)
            creators = [Creator(served.http.base_url, name, number) for number in range(4)]
            for creator in creators:
                creator.start()
            wait_until(served.http, f"{NAMESPACES}/{name}/configmaps", "0-5", holds=lambda now: now is not None)
            served.http.delete(f"{NAMESPACES}/{name}")
            wait_until_gone(served.http, NAMESPACES, name)
            for creator in creators:
                creator.join()
            assert sum(creator.made for creator in creators) > 5
            assert {code for creator in creators for code in creator.codes} <= {201, 403, 404}
        served.kill()
    assert [key for number in range(10) for key in await keys_of(tmp_path / "store.db", f"round-{number}")] == []


async def test_namespace_deletion_continues_after_a_restart(tmp_path: Path) -> None:
    with serving("sqlite:store.db", tmp_path) as served:
        for name in ("held", "many"):
            make(served.http, NAMESPACES, name)
        make(served.http, f"{NAMESPACES}/held/configmaps", "c", finalizers=(HOLD,))
        for number in range(500):
            make(served.http, f"{NAMESPACES}/many/configmaps", f"c{number}")
        served.http.delete(f"{NAMESPACES}/held")
        wait_until(served.http, NAMESPACES, "held", holds=remaining)
        served.http.delete(f"{NAMESPACES}/many")
        served.kill()
    with serving("sqlite:store.db", tmp_path) as served:
        wait_until_gone(served.http, NAMESPACES, "many")
        release(served.http, f"{NAMESPACES}/held/configmaps/c")
        wait_until_gone(served.http, NAMESPACES, "held")
        served.kill()
    assert await keys_of(tmp_path / "store.db", "held") + await keys_of(tmp_path / "store.db", "many") == []
