"""A start loads what the first requests need, and no more. What comes later is there for whoever needs it at once.

How long a start takes depends on the machine. Most of it goes into loading code, and how much that is depends on nothing else.
"""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from probate.app.startup import LATE

ARGUMENTS = ["serve", "--listen", "127.0.0.1:0", "--insecure"]
UNTIL_READY = """
import os, sys, types

class Out:
    def write(self, text):
        if "ready after" in text:
            loaded = [name for name, module in sys.modules.items() if type(module) is types.ModuleType]
            os.write(1, " ".join(loaded).encode())
            os._exit(0)

    def flush(self):
        pass

sys.stdout = Out()
from probate.__main__ import main
main()
"""
"""The command, in a process that ends when it would say that it is ready, and tells which modules are loaded then."""
NOT_YET = {
    *(
        "probate.controllers.registry",
        "probate.controllers.workloads",
        "probate.controllers.scheduler",
        "probate.controllers.simulated_nodes.node_status",
    ),
    *("probate.lib.cel.values", "probate.api.structural.validate", "probate.lib.regexp"),
    *("probate.api.crds.crd_conditions", "probate.api.policies.compiled_policy", "probate.kinds.tables"),
    *("probate.kinds.apps.validation", "probate.kinds.admissionregistration.policy_validation", "probate.api.strategic"),
    *("probate.api.audit.policy", "probate.server.audit.audit_log", "probate.server.openapi.documents"),
    *(
        "probate.server.ownership_api.owners_and_dependents",
        "probate.server.reviews.access_review",
        "probate.server.subresources.scale",
    ),
    *("probate.store.etcd", "cryptography", "grpc", "google.protobuf", "prometheus_client", "yaml"),
    *("http.client", "logging.config", "urllib.request", "zoneinfo"),
}
MOST_OF_OUR_OWN = 400
"""Modules that are loaded when the server is ready. There are twice as many."""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    # Those who act through the API begin just before the server says that it is ready.
    command = [sys.executable, "-c", UNTIL_READY, *ARGUMENTS, "--controllers", "none"]
    done = subprocess.run(command, cwd=tmp_path_factory.mktemp("starting"), capture_output=True, text=True, timeout=30, check=True)
    return {*done.stdout.split()}


def test_what_few_requests_need_is_not_loaded_before_the_server_is_ready(loaded: set[str]) -> None:
    assert loaded & NOT_YET == set()


def test_a_start_loads_about_half_of_the_code(loaded: set[str]) -> None:
    ours = sorted(name for name in loaded if name.startswith("probate."))
    assert "probate.server.verbs.get" in ours
    assert len(ours) < MOST_OF_OUR_OWN, ours


@pytest.mark.parametrize("name", LATE)
def test_what_is_late_is_there(name: str) -> None:
    file = Path(*name.split("."))
    assert any((Path(folder) / one).exists() for folder in sys.path for one in (file / "__init__.py", file.with_suffix(".py")))


@contextmanager
def serving(folder: Path, *more: str) -> Iterator[str]:
    """A server that has said this moment that it is ready."""
    command = [sys.executable, "-m", "probate", *ARGUMENTS, *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=folder, text=True) as process:
        try:
            assert process.stdout is not None
            greeting = re.match(r"probate: serving (\S+) ", process.stdout.readline())
            assert greeting is not None
            yield greeting[1]
        finally:
            process.terminate()
        assert process.wait(20) == 0


def test_nodes_that_were_asked_for_are_there_when_the_server_is_ready(tmp_path: Path) -> None:
    with serving(tmp_path, "--nodes", "3") as address, urllib.request.urlopen(f"{address}/api/v1/nodes", timeout=20) as told:  # noqa: S310
        assert [one["metadata"]["name"] for one in orjson.loads(told.read())["items"]] == ["node-1", "node-2", "node-3"]


def ruled(name: str) -> dict[str, Any]:
    """A definition whose schema has a rule."""
    spec = {"type": "object", "properties": {"a": {"type": "integer"}}, "x-kubernetes-validations": [{"rule": "self.a > 1"}]}
    version = {"name": "v1", "served": True, "storage": True}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    names = {"plural": name, "singular": name[:-1], "kind": name[:-1].capitalize()}
    about = {"group": "late.example.com", "scope": "Cluster", "names": names, "versions": [{**version, "schema": schema}]}
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {**kind, "metadata": {"name": f"{name}.late.example.com"}, "spec": about}


TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
YAML = {"content-type": "application/yaml"}
REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
FIRST: list[tuple[str, str, dict[str, Any], int]] = [
    ("GET", "/api/v1/namespaces", {"headers": TABLE}, 200),
    ("GET", "/openapi/v3", {}, 200),
    ("GET", "/metrics", {}, 200),
    ("GET", "/debug/ownership?namespace=default", {}, 200),
    ("POST", "/api/v1/namespaces/default/configmaps", {"headers": YAML, "content": "metadata: {name: x}"}, 201),
    ("POST", "/api/v1/namespaces/default/pods", {"json": {"metadata": {"name": "x"}}}, 422),
    ("POST", REVIEW, {"json": {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}}, 201),
    ("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {"json": ruled("things")}, 201),
]


def test_first_requests_that_need_what_comes_later_are_answered_as_ever(tmp_path: Path) -> None:
    def ask(first: tuple[str, str, dict[str, Any], int]) -> tuple[str, int]:
        method, path, given, _ = first
        return path, httpx.request(method, address + path, timeout=20, **given).status_code

    with serving(tmp_path) as address:
        with ThreadPoolExecutor(len(FIRST)) as pool:
            assert list(pool.map(ask, FIRST)) == [(path, code) for _, path, _, code in FIRST]
        thing = {"metadata": {"name": "x"}, "spec": {"a": 1}, "apiVersion": "late.example.com/v1", "kind": "Thing"}
        refused = httpx.post(f"{address}/apis/late.example.com/v1/things", json=thing)
    assert (refused.status_code, refused.json()["details"]["causes"][0]["field"]) == (422, "spec")
