"""An object whose stored data is damaged: it is reported, can be removed, and does not affect other objects or clients."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from support import server_process, stored_value_damage, wait_for_objects
from support.stored_value_damage import DamageTarget, EtcdRoot, SqliteFile

A = "/api/v1/namespaces/a"
CONFIGS = f"{A}/configmaps"
UNSAFE = {"ignoreStoreReadErrorWithClusterBreakingPotential": True}
JOBS = "/apis/batch/v1/namespaces/a/jobs"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/a/widgets"


class House:
    """A server on a store whose objects tests can damage."""

    def __init__(self, place: DamageTarget, folder: Path, *options: str) -> None:
        self.place = place
        self._folder = folder
        self._options = options or server_process.GC_CONTROLLERS
        self.start()

    def start(self) -> None:
        self.server = server_process.ServerProcess(self._folder, self.place.address, *self._options)
        self.http = httpx.Client(base_url=self.server.url, timeout=60)

    def restart(self) -> None:
        self.stop()
        self.start()

    def stop(self) -> None:
        self.http.close()
        self.server.stop()

    def create(self, path: str, name: str, *owners: dict[str, Any], **more: Any) -> dict[str, Any]:
        meta = {"name": name, "ownerReferences": [reference_to(one) for one in owners], **more.pop("meta", {})}
        answer = self.http.post(path, json={"metadata": meta, **more})
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()
        return made

    def damage(self, key: str) -> None:
        """Damages an object and makes the server read the store again: it trusts what it has read until something is written."""
        stored_value_damage.flip_bit(self.place, key)
        self.create(f"{A}/secrets", f"any-{key.rpartition('/')[2]}")

    def remove(self, path: str) -> httpx.Response:
        return self.http.request("DELETE", path, json=UNSAFE)

    def wait_for_collector(self) -> None:
        """Waits until the collector has processed all earlier objects: until an orphan created now is deleted."""
        gone = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "gone", "uid": "no-such-uid"}}
        self.create(CONFIGS, "last-in-the-queue", gone)
        wait_for_objects.wait_until_gone(self.http, CONFIGS, "last-in-the-queue")


def reference_to(owner: dict[str, Any], **more: Any) -> dict[str, Any]:
    meta = owner["metadata"]
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"], **more}


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> DamageTarget:
    """A store file, unless the test requests other targets."""
    is_etcd = getattr(request, "param", "sqlite") == "etcd"
    return EtcdRoot(request.getfixturevalue("etcd_member")) if is_etcd else SqliteFile(tmp_path)


on_both_engines = pytest.mark.parametrize("place", ["sqlite", "etcd"], indirect=True)


@pytest.fixture
def house_with_jobs(place: DamageTarget, tmp_path: Path) -> Iterator[House]:
    house = House(place, tmp_path, "--insecure", "--controllers", "collector,namespaces,definitions,jobs")
    assert house.http.post("/api/v1/namespaces", json={"metadata": {"name": "a"}}).status_code == 201
    yield house
    house.stop()


@pytest.fixture
def house(place: DamageTarget, tmp_path: Path) -> Iterator[House]:
    house = House(place, tmp_path)
    assert house.http.post("/api/v1/namespaces", json={"metadata": {"name": "a"}}).status_code == 201
    yield house
    house.stop()


@on_both_engines
def test_one_damaged_object_ends_the_collector_for_everybody(house: House) -> None:
    owner, other = house.create(CONFIGS, "owner"), house.create(CONFIGS, "other-owner")
    for name in ("x", "y", "z"):
        house.create(CONFIGS, name, owner)
    house.create(CONFIGS, "elsewhere", other)
    house.damage("objects/configmaps/a/y")
    for name in ("owner", "other-owner"):
        assert house.http.delete(f"{CONFIGS}/{name}").status_code == 200
    for name in ("x", "z", "elsewhere"):
        wait_for_objects.wait_until_gone(house.http, CONFIGS, name)
    house.wait_for_collector()
    assert house.http.get("/readyz/garbage-collector-controller").text == "ok"
    assert house.http.get(f"{CONFIGS}/y").status_code == 500, "what cannot be read was collected"


def test_a_damaged_object_is_left_out_of_lists_with_a_warning_that_names_it(house: House) -> None:
    for name in ("w", "x", "y", "z"):
        house.create(CONFIGS, name)
    for _ in range(3):  # earlier reads must not be trusted afterwards
        assert house.http.get(CONFIGS, params={"labelSelector": "!none"}).status_code == 200
    house.damage("objects/configmaps/a/x")
    for _ in range(2):  # the second list may be cached
        listed = house.http.get(CONFIGS)
        assert listed.status_code == 200
        assert {"w", "y", "z"} <= {one["metadata"]["name"] for one in listed.json()["items"]}
        assert 'configmaps \\"x\\" in namespace \\"a\\" is left out' in listed.headers["warning"]
    selected = house.http.get(CONFIGS, params={"labelSelector": "!none"})
    assert "is left out" in selected.headers["warning"]
    names, more = [], ""
    while True:
        page = house.http.get(CONFIGS, params={"limit": "1", "continue": more}).json()
        names += [one["metadata"]["name"] for one in page["items"]]
        more = page["metadata"].get("continue", "")
        if not more:
            break
    assert [one for one in names if one in "wxyz"] == ["w", "y", "z"]


def test_a_damaged_object_is_a_500_that_says_what_to_do(house: House) -> None:
    house.create(CONFIGS, "x")
    house.damage("objects/configmaps/a/x")
    for answer in (
        house.http.get(f"{CONFIGS}/x"),
        house.http.put(f"{CONFIGS}/x", json={"metadata": {"name": "x"}}),
        house.http.delete(f"{CONFIGS}/x"),
    ):
        status = answer.json()
        assert (answer.status_code, status["reason"]) == (500, "StorageReadError")
        assert status["details"]["name"] == "x"
        assert "ignoreStoreReadErrorWithClusterBreakingPotential" in status["message"]
    assert house.http.post(CONFIGS, json={"metadata": {"name": "x"}}).status_code == 409


@on_both_engines
def test_damage_is_reported_by_health_metrics_events_and_once_in_the_log(house: House) -> None:
    house.create(CONFIGS, "x")
    house.damage("objects/configmaps/a/x")
    for _ in range(3):
        house.http.get(f"{CONFIGS}/x")
        house.http.get(CONFIGS)
    house.wait_for_collector()  # it may have to process everything first
    assert house.http.get("/readyz").text == "ok", "one damaged object made the whole server unready"
    told = house.http.get("/readyz?verbose").text
    assert '[+]store ok: 1 damaged objects are left out of lists: configmaps "x" in namespace "a"' in told
    assert re.search(r'^probate_store_damaged_objects\{resource="configmaps"\} 1', house.http.get("/metrics").text, re.MULTILINE)
    event = wait_for_objects.wait_until(house.http, f"{A}/events", _event_name(house.http), holds=lambda now: now is not None)
    assert event is not None
    assert event["involvedObject"]["kind"] == "ConfigMap"
    assert event["type"] == "Warning"
    assert house.server.log.read_text().count("stored object is damaged") == 1
    assert house.remove(f"{CONFIGS}/x").status_code == 200
    assert "damaged" not in house.http.get("/readyz?verbose").text
    assert "is left out" not in house.http.get(CONFIGS).headers.get("warning", "")


def _event_name(http: httpx.Client) -> str:
    """Waits for the Event about the damage and returns its name."""
    query = {"fieldSelector": "reason=StoredObjectDamaged", "watch": "1", "timeoutSeconds": "60"}
    with http.stream("GET", f"{A}/events", params=query, timeout=70) as watch:
        for event in map(json.loads, watch.iter_lines()):
            return str(event["object"]["metadata"]["name"])
    raise AssertionError("no Event reports the damage")


@on_both_engines
def test_dependents_of_a_damaged_owner_are_collected_as_if_it_were_gone(house: House) -> None:
    owner = house.create(CONFIGS, "owner")
    house.create(CONFIGS, "before", owner)
    house.damage("objects/configmaps/a/owner")
    house.create(CONFIGS, "after", owner)
    house.restart()  # reads everything it has not processed yet
    house.wait_for_collector()
    for name in ("before", "after"):
        assert house.http.get(f"{CONFIGS}/{name}").status_code == 200, "an owner that cannot be read was taken for one that is gone"
    assert house.remove(f"{CONFIGS}/owner").status_code == 200
    for name in ("before", "after"):
        wait_for_objects.wait_until_gone(house.http, CONFIGS, name)


def test_an_owner_in_the_foreground_leaves_before_its_damaged_dependent(house: House) -> None:
    owner = house.create(CONFIGS, "owner")
    blocking = reference_to(owner, blockOwnerDeletion=True)
    for name in ("x", "y"):
        house.create(CONFIGS, name, meta={"ownerReferences": [blocking]})
    house.damage("objects/configmaps/a/y")
    house.http.request("DELETE", f"{CONFIGS}/owner", json={"propagationPolicy": "Foreground"})
    wait_for_objects.wait_until_gone(house.http, CONFIGS, "x")
    house.wait_for_collector()
    assert house.http.get(f"{CONFIGS}/owner").status_code == 200
    assert house.remove(f"{CONFIGS}/y").status_code == 200
    wait_for_objects.wait_until_gone(house.http, CONFIGS, "owner")


def test_an_orphaning_owner_is_deleted_once_its_damaged_dependent_is_removed(house: House) -> None:
    owner = house.create(CONFIGS, "owner")
    house.create(CONFIGS, "x", owner)
    house.damage("objects/configmaps/a/x")
    house.http.request("DELETE", f"{CONFIGS}/owner", json={"propagationPolicy": "Orphan"})
    house.wait_for_collector()
    assert house.http.get(f"{CONFIGS}/owner").status_code == 200
    assert house.remove(f"{CONFIGS}/x").status_code == 200
    wait_for_objects.wait_until_gone(house.http, CONFIGS, "owner")


def has_a_pod(job: dict[str, Any] | None) -> bool:
    return job is not None and job.get("status", {}).get("active") == 1


def test_a_pod_of_a_damaged_job_stays_after_the_job_is_removed(house_with_jobs: House) -> None:
    house = house_with_jobs
    template = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
    house.create(JOBS, "x", spec={"template": template})
    wait_for_objects.wait_until(house.http, JOBS, "x", holds=has_a_pod)
    [pod] = [one["metadata"]["name"] for one in house.http.get(f"{A}/pods").json()["items"]]
    house.damage("objects/jobs.batch/a/x")
    house.restart()  # from here on, the controller has never read the Job
    house.http.request("DELETE", f"{A}/pods/{pod}", json={"gracePeriodSeconds": 0})
    house.create(JOBS, "y", spec={"template": template})
    wait_for_objects.wait_until(house.http, JOBS, "y", holds=has_a_pod)  # so the controller has processed all earlier objects
    assert house.http.get(f"{A}/pods/{pod}").status_code == 200, "a Job that cannot be read was taken for one that is gone"
    assert house.remove(f"{JOBS}/x").status_code == 200
    wait_for_objects.wait_until_gone(house.http, f"{A}/pods", pod)


@pytest.mark.parametrize("policy", ["Orphan", "Foreground"])
def test_the_removal_of_a_damaged_object_leaves_index_entries_behind(house: House, policy: str) -> None:
    owner = house.create(CONFIGS, "owner")
    custom = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": "no-such-uid"}
    meta = {"ownerReferences": [reference_to(owner, blockOwnerDeletion=True), custom]}
    x = house.create(CONFIGS, "x", meta=meta)
    house.create(CONFIGS, "dependent", meta={"ownerReferences": [reference_to(x, blockOwnerDeletion=True)]})
    house.damage("objects/configmaps/a/dependent")  # so the collector cannot release x
    house.http.request("DELETE", f"{CONFIGS}/x", json={"propagationPolicy": policy})
    assert isinstance(house.place, SqliteFile)
    count = "SELECT count(*) FROM entry WHERE key LIKE '%/objects/configmaps/a/x'"
    assert house.place.run(count) == 6, "two in owned, one each in blocking, custom, since and orphaning or waiting"
    house.damage("objects/configmaps/a/x")
    assert house.remove(f"{CONFIGS}/x").status_code == 200
    assert house.place.run(count) == 0


@on_both_engines
def test_a_namespace_leaves_with_a_damaged_object_in_it(house: House) -> None:
    for name in ("x", "y"):
        house.create(CONFIGS, name)
    house.damage("objects/configmaps/a/x")
    assert house.http.delete("/api/v1/namespaces/a").status_code == 200

    def is_reported(now: dict[str, Any] | None) -> bool:
        assert now is not None, "the namespace was removed together with the damaged object"
        return "configmaps x" in wait_for_objects.condition(now, "NamespaceDeletionContentFailure").get("message", "")

    namespace = wait_for_objects.wait_until(house.http, "/api/v1/namespaces", "a", holds=is_reported)
    assert "configmaps. has 1 resource instances" in wait_for_objects.condition(namespace, "NamespaceContentRemaining")["message"]
    assert house.remove(f"{CONFIGS}/x").status_code == 200
    wait_for_objects.wait_until_gone(house.http, "/api/v1/namespaces", "a")


def test_removing_a_damaged_crd_removes_its_custom_resources(house: House) -> None:
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    house.create(CRDS, "widgets.example.com", spec=spec)
    widget = house.create(WIDGETS, "w", apiVersion="example.com/v1", kind="Widget")
    house.create(CONFIGS, "dependent", widget)
    house.damage("objects/customresourcedefinitions.apiextensions.k8s.io/-/widgets.example.com")
    house.create(CRDS, "gadgets.example.org", spec={**spec, "group": "example.org", "names": {**names, "plural": "gadgets"}})
    assert house.http.get(f"{WIDGETS}/w").status_code == 200, "a kind whose definition was read once is served no more"
    house.restart()
    house.wait_for_collector()
    assert house.http.get(f"{CONFIGS}/dependent").status_code == 200
    assert house.http.get("/apis/example.org/v1/gadgets").status_code == 200, "another definition is not served"
    assert house.remove(f"{CRDS}/widgets.example.com").status_code == 200
    house.create(CRDS, "widgets.example.com", spec=spec)
    assert house.http.get(f"{WIDGETS}/w").status_code == 200, "the objects of a kind went with its damaged definition"


@on_both_engines
def test_a_watch_goes_on_as_if_nothing_had_been_lost(house: House) -> None:
    house.create(CONFIGS, "x")
    house.damage("objects/configmaps/a/x")
    since = house.http.get(CONFIGS).json()["metadata"]["resourceVersion"]
    other = house.http.get(f"{A}/pods").json()["metadata"]["resourceVersion"]
    house.create(CONFIGS, "y")
    assert house.remove(f"{CONFIGS}/x").status_code == 200
    house.create(CONFIGS, "z")
    told = _events(house.http, CONFIGS, since, 2)
    assert [event["type"] for event in told] == ["ADDED", "ERROR"]
    assert told[1]["object"]["code"] == 410
    house.create(f"{A}/pods", "p", spec={"containers": [{"name": "a", "image": "b"}]})
    assert [event["type"] for event in _events(house.http, f"{A}/pods", other, 1)] == ["ADDED"], "a watch of other objects ended"


def _events(http: httpx.Client, path: str, since: str, number: int) -> list[dict[str, Any]]:
    query = {"watch": "1", "resourceVersion": since, "timeoutSeconds": "30"}
    told: list[dict[str, Any]] = []
    with http.stream("GET", path, params=query, timeout=60) as watch:
        for line in watch.iter_lines():
            told.append(json.loads(line))
            if len(told) == number:
                break
    return told


@pytest.mark.parametrize(
    "key",
    [
        "objects/namespaces/-/default",
        "objects/clusterroles.rbac.authorization.k8s.io/-/cluster-admin",
        "objects/priorityclasses.scheduling.k8s.io/-/system-node-critical",
        "objects/services/default/kubernetes",
        "objects/apiservices.apiregistration.k8s.io/-/v1.apps",
        "objects/positions.probate.dev/-/collector",
    ],
)
def test_a_server_does_not_start_on_a_damaged_object_of_its_own(house: House, key: str) -> None:
    house.wait_for_collector()
    house.stop()
    stored_value_damage.overwrite_with_garbage(house.place, key)
    house.start()
    assert house.http.get("/readyz").text == "ok"
    house.wait_for_collector()


def test_who_removes_what_can_be_read_or_says_more_is_refused(house: House) -> None:
    house.create(CONFIGS, "x")
    refused = house.remove(f"{CONFIGS}/x")
    assert (refused.status_code, refused.json()["reason"]) == (422, "Invalid")
    assert house.remove(f"{CONFIGS}/none").status_code == 404
    house.damage("objects/configmaps/a/x")
    for more in (
        {"gracePeriodSeconds": 0},
        {"propagationPolicy": "Background"},
        {"garbageCollectionPolicy": "Orphan"},
        {"synchronousGarbageCollection": True},
        {"orphanDependents": False},
        {"dryRun": ["All"]},
        {"preconditions": {"uid": "u"}},
    ):
        answer = house.http.request("DELETE", f"{CONFIGS}/x", json=UNSAFE | more)
        assert answer.status_code == 422, more
        assert f".{next(iter(more))}" in answer.json()["message"]
    assert house.http.request("DELETE", CONFIGS, json=UNSAFE).status_code == 422
    removed = house.http.delete(f"{CONFIGS}/x", params={next(iter(UNSAFE)): "true"})
    assert (removed.status_code, removed.json()["status"]) == (200, "Success")
    assert house.http.get(f"{CONFIGS}/x").status_code == 404
