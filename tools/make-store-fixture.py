"""Creates a store as this version of Probate writes it, with a record of the lists it serves, for later versions to open.

    python tools/make-store-fixture.py format-2                   tests/data/stores/format-2.db.xz and format-2.json.xz
    python tools/make-store-fixture.py format-1 --etcd PROGRAM    tests/data/stores/format-1-etcd.json.xz

Run it for each release and for each format of the store, and commit the files: tests/integration/test_upgrade.py opens them all.
The store holds objects of many kinds with history, owners, finalizers, a custom resource, deleted objects, and objects whose
deletion is in progress. The record contains each list byte for byte, now and at an earlier revision.
"""

from __future__ import annotations

import argparse
import base64
import json
import lzma
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import httpx

from probate.store.etcd.rpc import rpc_pb2 as rpc

FOLDER = Path(__file__).parent.parent / "tests" / "data" / "stores"
ITEMS = re.compile(rb'"items":(\[.*\])', re.DOTALL)
LISTS = (
    "/api/v1/namespaces",
    "/api/v1/configmaps",
    "/api/v1/secrets",
    "/api/v1/services",
    "/api/v1/serviceaccounts",
    "/api/v1/pods",
    "/api/v1/resourcequotas",
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/replicasets",
    "/apis/rbac.authorization.k8s.io/v1/roles",
    "/apis/rbac.authorization.k8s.io/v1/rolebindings",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/example.com/v1/widgets",
)
A = "/api/v1/namespaces/team-a"
APPS = "/apis/apps/v1/namespaces/team-a"
WIDGETS = "/apis/example.com/v1/namespaces/team-b/widgets"
POD = {"containers": [{"name": "main", "image": "example.com/main:1"}]}
DEFINITION = {
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                    }
                },
            }
        ],
    },
}


class Filler:
    """Creates the objects of the fixture on one server."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    def create(self, path: str, object_: dict[str, Any]) -> dict[str, Any]:
        answer = self._http.post(path, json=object_)
        assert answer.status_code == 201, answer.text
        created: dict[str, Any] = answer.json()
        return created

    def fill(self) -> None:
        for name in ("team-a", "team-b", "team-gone"):
            self.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": {"team": name}}})
        self._create_plain()
        self._create_owned()
        self._create_custom()
        self._create_terminating()
        self._http.delete("/api/v1/namespaces/team-gone").raise_for_status()

    def _create_plain(self) -> None:
        for number in range(120):
            self.create(
                f"{A}/configmaps", {"metadata": {"name": f"config-{number:03}"}, "data": {"number": str(number), "text": "ä€𝄞"}}
            )
        for round_ in range(3):
            for number in range(0, 120, 8):
                change = {"data": {f"round-{round_}": "x" * 50}, "metadata": {"labels": {"round": str(round_)}}}
                media = {"content-type": "application/merge-patch+json"}
                self._http.patch(f"{A}/configmaps/config-{number:03}", content=json.dumps(change), headers=media).raise_for_status()
        for number in range(100, 120):
            self._http.delete(f"{A}/configmaps/config-{number:03}").raise_for_status()
        self.create(f"{A}/secrets", {"metadata": {"name": "letter"}, "stringData": {"said": "to nobody"}})
        self.create(f"{A}/services", {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}], "selector": {"app": "web"}}})
        self.create(f"{A}/serviceaccounts", {"metadata": {"name": "worker"}})
        self.create(f"{A}/resourcequotas", {"metadata": {"name": "few"}, "spec": {"hard": {"services": "9"}}})
        rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/team-a"
        rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}
        self.create(f"{rbac}/roles", {"metadata": {"name": "reader"}, "rules": [rule]})
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
        ann = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}
        self.create(f"{rbac}/rolebindings", {"metadata": {"name": "readers"}, "roleRef": reference, "subjects": [ann]})

    def _create_owned(self) -> None:
        """Creates Deployments that own ReplicaSets that own pods."""
        labels = {"app": "web"}
        template = {"metadata": {"labels": labels}, "spec": POD}
        for number in range(4):
            spec = {"replicas": 5, "selector": {"matchLabels": labels}, "template": template}
            top = self.create(f"{APPS}/deployments", {"metadata": {"name": f"web-{number}"}, "spec": spec})
            meta = {"name": f"web-{number}-1", "labels": labels, "ownerReferences": [reference_to(top)]}
            middle = self.create(f"{APPS}/replicasets", {"metadata": meta, "spec": spec})
            for pod in range(5):
                meta = {"name": f"web-{number}-1-{pod}", "labels": labels, "ownerReferences": [reference_to(middle)]}
                self.create(f"{A}/pods", {"metadata": meta, "spec": POD})

    def _create_custom(self) -> None:
        self.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)
        body = {"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"size": 1}}
        owner = self.create(WIDGETS, {**body, "metadata": {"name": "owner"}})
        for number in range(30):
            meta = {"name": f"part-{number:02}", "ownerReferences": [reference_to(owner)]}
            self.create(WIDGETS, {**body, "metadata": meta})

    def _create_terminating(self) -> None:
        """Creates objects whose deletion is in progress."""
        held = {"name": "held", "finalizers": ["example.com/keep"]}
        owner = self.create(f"{A}/configmaps", {"metadata": {"name": "waiting-owner"}})
        self.create(f"{A}/configmaps", {"metadata": {**held, "ownerReferences": [reference_to(owner)]}})
        self._http.request("DELETE", f"{A}/configmaps/waiting-owner", json={"propagationPolicy": "Foreground"}).raise_for_status()

    def wait_until_settled(self) -> None:
        """Waits until the namespace is removed and the dependent with a finalizer is terminating."""
        for _ in range(600):
            dependent = self._http.get(f"{A}/configmaps/held").json()
            if "deletionTimestamp" in dependent["metadata"] and self._http.get("/api/v1/namespaces/team-gone").status_code == 404:
                return
            time.sleep(0.05)
        raise AssertionError("the deletions did not finish")

    def record(self, *, at: str = "") -> dict[str, str]:
        """Returns the items of each list as served."""
        query = {"resourceVersion": at, "resourceVersionMatch": "Exact"} if at else {}
        lists: dict[str, str] = {}
        for path in LISTS:
            answer = self._http.get(path, params=query)
            items = ITEMS.search(answer.content)
            if answer.status_code == 200 and items is not None:
                lists[path] = items[1].decode()
        return lists

    def revision(self) -> str:
        return str(self._http.get("/api/v1/configmaps?limit=1").json()["metadata"]["resourceVersion"])


def reference_to(owner: dict[str, Any]) -> dict[str, Any]:
    """Returns an owner reference that blocks the deletion of the owner."""
    named = {"apiVersion": owner["apiVersion"], "kind": owner["kind"]}
    meta = owner["metadata"]
    return {**named, "name": meta["name"], "uid": meta["uid"], "controller": True, "blockOwnerDeletion": True}


@contextmanager
def serving(store: str, folder: Path) -> Iterator[Filler]:
    """Runs a server with only the controllers that carry out deletions."""
    options = ["--insecure", "--controllers", "collector,namespaces,definitions", "--listen", "127.0.0.1:0"]
    command = [sys.executable, "-m", "probate", "serve", "--store", store, *options, "--kubeconfig", str(folder / "config")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as process:
        assert process.stdout is not None
        greeting = re.search(r"http://\S+", process.stdout.readline())
        assert greeting is not None, "the server did not start"
        with httpx.Client(base_url=greeting[0], timeout=60) as http:
            yield Filler(http)
        process.send_signal(signal.SIGTERM)


def create_fixture(store: str, folder: Path) -> dict[str, Any]:
    """Fills a new store. Returns the record of the lists it serves."""
    with serving(store, folder) as filler:
        filler.fill()
        filler.wait_until_settled()
        early = filler.revision()
        filler.create(f"{A}/configmaps", {"metadata": {"name": "late"}})
        return {"now": filler.record(), "earlier": {"revision": early, "lists": filler.record(at=early)}}


def write(name: str, content: bytes) -> None:
    """Writes a compressed file of the fixture."""
    target = FOLDER / f"{name}.xz"
    target.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))
    print(f"{target}: {target.stat().st_size:,} bytes")


def make_sqlite(name: str) -> None:
    """Creates the fixture of a store in a file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "probate.db"
        record = create_fixture(f"sqlite:{file}", Path(folder))
        assert not file.with_name("probate.db-wal").exists(), "the store was not closed"
        write(f"{name}.db", file.read_bytes())
        write(f"{name}.json", json.dumps(record, ensure_ascii=False, indent=0).encode())


@contextmanager
def etcd_member(program: str, folder: Path) -> Iterator[str]:
    """Runs one etcd member on a free port."""
    import socket  # noqa: PLC0415

    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        client, peer = one.getsockname()[1], other.getsockname()[1]
    urls = [f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"]
    names = ("--listen-client-urls", "--advertise-client-urls", "--listen-peer-urls", "--initial-advertise-peer-urls")
    options = [part for option, url in zip(names, (urls[0], urls[0], urls[1], urls[1]), strict=True) for part in (option, url)]
    command = [program, "--data-dir", str(folder / "etcd"), *options, "--initial-cluster", f"default={urls[1]}"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield f"127.0.0.1:{client}"
        finally:
            process.terminate()


def make_etcd(name: str, program: str) -> None:
    """Creates the fixture of a store on etcd: its keys, to be written into another etcd."""
    with tempfile.TemporaryDirectory() as folder, etcd_member(program, Path(folder)) as endpoint:
        record = create_fixture(f"etcd://{endpoint}/probate", Path(folder))
        pairs = [[base64.b64encode(kv.key).decode(), base64.b64encode(kv.value).decode()] for kv in dump(endpoint)]
        write(f"{name}-etcd.json", json.dumps({"keys": pairs, "now": record["now"]}, ensure_ascii=False, indent=0).encode())


def dump(endpoint: str) -> list[rpc.KeyValue]:
    """Returns all keys of the store in the order in which they were written."""
    with grpc.insecure_channel(endpoint) as channel:
        call = channel.unary_unary(
            "/etcdserverpb.KV/Range",
            request_serializer=rpc.RangeRequest.SerializeToString,
            response_deserializer=rpc.RangeResponse.FromString,
        )
        response = call(rpc.RangeRequest(key=b"/probate/", range_end=b"/probate0"))
    return sorted(response.kvs, key=lambda kv: kv.mod_revision)


def main() -> None:
    """Creates the fixture that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="name of the fixture, such as format-2")
    parser.add_argument("--etcd", metavar="PROGRAM", help="create the fixture of an etcd store, with this etcd program")
    arguments = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    if arguments.etcd:
        make_etcd(arguments.name, arguments.etcd)
    else:
        make_sqlite(arguments.name)


if __name__ == "__main__":
    main()
