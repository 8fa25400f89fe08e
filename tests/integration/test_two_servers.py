"""Two servers on one store, at the same time or one after the other: each sees the other's writes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from support import etcd_members, wait_for_objects
from support.server_process import run_killable_server


@contextmanager
def serving(store: str, folder: Path) -> Iterator[httpx.Client]:
    with run_killable_server(folder, store, "--insecure") as server, httpx.Client(base_url=server.url, timeout=60) as client:
        yield client


def test_objects_and_custom_kinds_of_one_server_are_served_by_the_other(etcd_member: etcd_members.Member, tmp_path: Path) -> None:
    store = f"etcd://{etcd_member.endpoint}/two-servers"
    with serving(store, tmp_path) as one, serving(store, tmp_path) as other:
        assert one.post("/api/v1/namespaces", json={"metadata": {"name": "shared"}}).status_code == 201
        assert other.get("/api/v1/namespaces/shared").status_code == 200
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        spec = {
            "group": "two.example.com",
            "scope": "Cluster",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [version],
        }
        definition = {"metadata": {"name": "things.two.example.com"}, "spec": spec}
        assert one.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json=definition).status_code == 201
        assert one.get("/apis/two.example.com/v1/things").status_code == 200
        deadline = time.monotonic() + 60
        while other.get("/apis/two.example.com/v1/things").status_code != 200:
            assert time.monotonic() < deadline, "the other server never served the new kind"


def test_pods_are_created_by_one_server_and_by_the_other_once_that_has_stopped(
    etcd_member: etcd_members.Member, tmp_path: Path
) -> None:
    store, path = f"etcd://{etcd_member.endpoint}/two-crews", "/apis/apps/v1/namespaces/default/replicasets"
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 3, "selector": {"matchLabels": labels}, "template": template}
    with wait_for_objects.serving(store, tmp_path) as one, wait_for_objects.serving(store, tmp_path) as other:
        assert other.http.post(path, json={"metadata": {"name": "web"}, "spec": spec}).status_code == 201
        until_made(other.http, 3)
        lease = other.http.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/probate").json()
        one.server.stop()
        patch = {"Content-Type": "application/merge-patch+json"}
        assert other.http.patch(f"{path}/web", json={"spec": {"replicas": 5}}, headers=patch).status_code == 200
        until_made(other.http, 5)
        now = other.http.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/probate").json()
        assert now["spec"]["holderIdentity"] != lease["spec"]["holderIdentity"]


def until_made(http: httpx.Client, number: int) -> None:
    """Waits until the ReplicaSet reports this many pods, and asserts that there are no more."""
    found = wait_for_objects.wait_until(
        http,
        "/apis/apps/v1/namespaces/default/replicasets",
        "web",
        holds=lambda now: now is not None and (now.get("status") or {}).get("replicas") == number,
    )
    assert found is not None
    assert len(http.get("/api/v1/namespaces/default/pods").json()["items"]) == number


SERVICES = "/api/v1/namespaces/default/services"


def made(client: httpx.Client, name: str, **spec: object) -> dict[str, Any]:
    answer = client.post(SERVICES, json={"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}})
    assert answer.status_code == 201, answer.text
    return dict(answer.json()["spec"])


def test_services_of_two_servers_share_no_address_and_no_node_port(etcd_member: etcd_members.Member, tmp_path: Path) -> None:
    store = f"etcd://{etcd_member.endpoint}/two-servers-services"
    with serving(store, tmp_path) as one, serving(store, tmp_path) as other, ThreadPoolExecutor(4) as pool:
        clients = [one, other] * 30
        specs = list(pool.map(lambda at: made(clients[at], f"s{at}", type="NodePort"), range(len(clients))))
        assert len({spec["clusterIP"] for spec in specs}) == len(specs)
        assert len({spec["ports"][0]["nodePort"] for spec in specs}) == len(specs)
        wanted = [client.post(SERVICES, json=asking_for("10.96.0.9", name)) for client, name in ((one, "a"), (other, "b"))]
        assert sorted(answer.status_code for answer in wanted) == [201, 422]


def asking_for(address: str, name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], "clusterIP": address}}


def test_returned_address_stays_allocated_after_the_server_was_killed(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'services.db'}"
    with serving(store, tmp_path) as before:
        address = made(before, "a")["clusterIP"]
        gone = made(before, "b")["clusterIP"]
        assert before.delete(f"{SERVICES}/b").status_code == 200
    with serving(store, tmp_path) as after:
        assert after.post(SERVICES, json=asking_for(address, "c")).status_code == 422
        assert after.post(SERVICES, json=asking_for(gone, "d")).status_code == 201


def test_two_servers_never_exceed_a_quota(etcd_member: etcd_members.Member, tmp_path: Path) -> None:
    store, space = f"etcd://{etcd_member.endpoint}/two-quotas", "/api/v1/namespaces/default"
    with serving(store, tmp_path) as one, serving(store, tmp_path) as other, ThreadPoolExecutor(32) as pool:
        hard = {"count/leases.coordination.k8s.io": "10", "count/secrets": "0"}
        assert one.post(f"{space}/resourcequotas", json={"metadata": {"name": "q"}, "spec": {"hard": hard}}).status_code == 201
        deadline = time.monotonic() + 60
        while other.post(f"{space}/secrets?dryRun=All", json={"metadata": {"name": "s"}}).status_code != 403:
            assert time.monotonic() < deadline, "the other server never knew of the quota"
        leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"

        def create(number: int) -> int:
            return (one, other)[number % 2].post(leases, json={"metadata": {"name": f"l{number}"}}).status_code

        codes = list(pool.map(create, range(32)))
        assert codes.count(201) == 10, codes
        assert codes.count(403) == 22, codes
        while one.get(f"{space}/resourcequotas/q").json()["status"]["used"]["count/leases.coordination.k8s.io"] != "10":
            assert time.monotonic() < deadline, "the status never said what is used"
