"""Makes a store as this version of Probate writes it, with a record of what it serves, for later versions to open.

    python tools/make-store-fixture.py format-2                   tests/data/stores/format-2.db.xz and format-2.json.xz
    python tools/make-store-fixture.py format-1 --etcd PROGRAM    tests/data/stores/format-1-etcd.json.xz

Run it for each release and for each format of the store, and commit the files: tests/integration/test_upgrade.py opens them all.
The store holds objects of many kinds with history, owners, finalizers, a custom kind, and objects that were deleted or are held
in the middle of a deletion. The record has each list byte for byte, now and at an earlier revision.
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


class Maker:
    """Fills one server."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    def create(self, path: str, object_: dict[str, Any]) -> dict[str, Any]:
        answer = self._http.post(path, json=object_)
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()
        return made

    def fill(self) -> None:
        for name in ("team-a", "team-b", "team-gone"):
            self.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": {"team": name}}})
        self._plain()
        self._owned()
        self._custom()
        self._held()
        self._http.delete("/api/v1/namespaces/team-gone").raise_for_status()

    def _plain(self) -> None:
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

    def _owned(self) -> None:
        """Deployments that own ReplicaSets that own pods."""
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

    def _custom(self) -> None:
        self.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)
        body = {"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"size": 1}}
        owner = self.create(WIDGETS, {**body, "metadata": {"name": "owner"}})
        for number in range(30):
            meta = {"name": f"part-{number:02}", "ownerReferences": [reference_to(owner)]}
            self.create(WIDGETS, {**body, "metadata": meta})

    def _held(self) -> None:
        """What is in the middle of a deletion."""
        held = {"name": "held", "finalizers": ["example.com/keep"]}
        owner = self.create(f"{A}/configmaps", {"metadata": {"name": "waiting-owner"}})
        self.create(f"{A}/configmaps", {"metadata": {**held, "ownerReferences": [reference_to(owner)]}})
        self._http.request("DELETE", f"{A}/configmaps/waiting-owner", json={"propagationPolicy": "Foreground"}).raise_for_status()

    def settle(self) -> None:
        """Come back when the namespace is gone and what is held says so."""
        for _ in range(600):
            dependent = self._http.get(f"{A}/configmaps/held").json()
            if "deletionTimestamp" in dependent["metadata"] and self._http.get("/api/v1/namespaces/team-gone").status_code == 404:
                return
            time.sleep(0.05)
        raise AssertionError("the deletions did not come to their end")

    def record(self, *, at: str = "") -> dict[str, str]:
        """The items of each list, as they are served."""
        query = {"resourceVersion": at, "resourceVersionMatch": "Exact"} if at else {}
        found: dict[str, str] = {}
        for path in LISTS:
            answer = self._http.get(path, params=query)
            items = ITEMS.search(answer.content)
            if answer.status_code == 200 and items is not None:
                found[path] = items[1].decode()
        return found

    def revision(self) -> str:
        return str(self._http.get("/api/v1/configmaps?limit=1").json()["metadata"]["resourceVersion"])


def reference_to(owner: dict[str, Any]) -> dict[str, Any]:
    """A reference that blocks the owner."""
    named = {"apiVersion": owner["apiVersion"], "kind": owner["kind"]}
    meta = owner["metadata"]
    return {**named, "name": meta["name"], "uid": meta["uid"], "controller": True, "blockOwnerDeletion": True}


@contextmanager
def serving(store: str, folder: Path) -> Iterator[Maker]:
    """A server that changes nothing by itself but what is deleted."""
    options = ["--insecure", "--controllers", "collector,namespaces,definitions", "--listen", "127.0.0.1:0"]
    command = [sys.executable, "-m", "probate", "serve", "--store", store, *options, "--kubeconfig", str(folder / "config")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as process:
        assert process.stdout is not None
        greeting = re.search(r"http://\S+", process.stdout.readline())
        assert greeting is not None, "the server did not start"
        with httpx.Client(base_url=greeting[0], timeout=60) as http:
            yield Maker(http)
        process.send_signal(signal.SIGTERM)


def filled(store: str, folder: Path) -> dict[str, Any]:
    """Fill a new store. Returns the record of what it serves."""
    with serving(store, folder) as maker:
        maker.fill()
        maker.settle()
        early = maker.revision()
        maker.create(f"{A}/configmaps", {"metadata": {"name": "late"}})
        return {"now": maker.record(), "earlier": {"revision": early, "lists": maker.record(at=early)}}


def write(name: str, content: bytes) -> None:
    """Compress a file of the fixture."""
    target = FOLDER / f"{name}.xz"
    target.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))
    print(f"{target}: {target.stat().st_size:,} bytes")


def make_sqlite(name: str) -> None:
    """The fixture of a store in a file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "probate.db"
        record = filled(f"sqlite:{file}", Path(folder))
        assert not file.with_name("probate.db-wal").exists(), "the store was not closed"
        write(f"{name}.db", file.read_bytes())
        write(f"{name}.json", json.dumps(record, ensure_ascii=False, indent=0).encode())


@contextmanager
def etcd_member(program: str, folder: Path) -> Iterator[str]:
    """One member on a free port."""
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
    """The fixture of a store on etcd: its keys, to be written into another etcd."""
    with tempfile.TemporaryDirectory() as folder, etcd_member(program, Path(folder)) as endpoint:
        record = filled(f"etcd://{endpoint}/probate", Path(folder))
        pairs = [[base64.b64encode(kv.key).decode(), base64.b64encode(kv.value).decode()] for kv in dumped(endpoint)]
        write(f"{name}-etcd.json", json.dumps({"keys": pairs, "now": record["now"]}, ensure_ascii=False, indent=0).encode())


def dumped(endpoint: str) -> list[rpc.KeyValue]:
    """All keys of the store, those written first first."""
    with grpc.insecure_channel(endpoint) as channel:
        ask = channel.unary_unary(
            "/etcdserverpb.KV/Range",
            request_serializer=rpc.RangeRequest.SerializeToString,
            response_deserializer=rpc.RangeResponse.FromString,
        )
        found = ask(rpc.RangeRequest(key=b"/probate/", range_end=b"/probate0"))
    return sorted(found.kvs, key=lambda kv: kv.mod_revision)


def main() -> None:
    """Make what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="of the fixture, such as format-2")
    parser.add_argument("--etcd", metavar="PROGRAM", help="make the fixture of an etcd store, with this etcd")
    given = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    if given.etcd:
        make_etcd(given.name, given.etcd)
    else:
        make_sqlite(given.name)


if __name__ == "__main__":
    main()
