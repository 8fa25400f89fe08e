"""Two servers on one etcd: what one does, the other serves."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

import etcd_members


@contextmanager
def serving(store: str, folder: Path) -> Iterator[httpx.Client]:
    command = [sys.executable, "-m", "probate", "serve", "--store", store, "--listen", "127.0.0.1:0", "--kubeconfig", ""]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as process:
        assert process.stdout is not None
        greeting = re.search(r"http://\S+", process.stdout.readline())
        assert greeting is not None
        with httpx.Client(base_url=greeting[0], timeout=30) as client:
            yield client
        process.terminate()


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
        deadline = time.monotonic() + 20
        while other.get("/apis/two.example.com/v1/things").status_code != 200:
            assert time.monotonic() < deadline, "the other server never served the new kind"
