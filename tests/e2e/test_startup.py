"""A start loads only the modules that the first requests need. Requests that need other modules succeed from the start.

How long a start takes depends on the machine. Most of it is loading code, and the amount of code does not depend on the machine.
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

import probate
from probate.app.startup import LAZY_MODULES

SOURCES = Path(probate.__file__).parent
ARGUMENTS = ["serve", "--listen", "127.0.0.1:0", "--insecure"]
EXIT_WHEN_READY = """
import os, sys, types

class StandardOutput:
    def write(self, text):
        if "ready after" in text:
            loaded = [name for name, module in sys.modules.items() if type(module) is types.ModuleType]
            os.write(1, " ".join(loaded).encode())
            os._exit(0)

    def flush(self):
        pass

sys.stdout = StandardOutput()
from probate.__main__ import main
main()
"""
"""Runs the command in a process that, instead of the start line, prints the loaded modules and exits."""
LOADED_LATER = {
    *(
        "probate.controllers.workloads",
        "probate.controllers.scheduler",
        "probate.controllers.simulated_nodes.node_status",
    ),
    *("probate.lib.cel.values", "probate.api.structural.validate", "probate.lib.regexp"),
    *("probate.api.crds.crd_conditions", "probate.api.policies.compiled_policy", "probate.kinds.tables"),
    *("probate.kinds.apps.validation", "probate.kinds.admissionregistration.policy_validation", "probate.api.strategic"),
    *("probate.api.audit.policy", "probate.server.audit.audit_log", "probate.server.openapi.openapi_documents"),
    *(
        "probate.server.ownership_api.owners_and_dependents",
        "probate.server.reviews.access_review",
        "probate.server.subresources.scale",
    ),
    *("probate.store.etcd", "cryptography", "grpc", "google.protobuf", "prometheus_client", "yaml"),
    *("http.client", "logging.config", "urllib.request", "zoneinfo"),
}
MAX_SHARE = 0.5
"""The share of Probate's source lines that may be loaded when the server is ready. Lines, since modules may be split."""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    # Without controllers, which start just before the server is ready.
    command = [sys.executable, "-c", EXIT_WHEN_READY, *ARGUMENTS, "--controllers", "none"]
    completed = subprocess.run(
        command, cwd=tmp_path_factory.mktemp("starting"), capture_output=True, text=True, timeout=30, check=True
    )
    return {*completed.stdout.split()}


def test_rarely_used_modules_are_not_loaded_before_the_server_is_ready(loaded: set[str]) -> None:
    assert loaded & LOADED_LATER == set()


def test_start_loads_about_half_of_the_code(loaded: set[str]) -> None:
    lines = {file: file.read_bytes().count(b"\n") for file in SOURCES.rglob("*.py")}
    own = sorted(name for name in loaded if name.startswith("probate."))
    assert "probate.server.verbs.get" in own
    assert sum(lines[source_file(name)] for name in own) < MAX_SHARE * sum(lines.values()), own


def source_file(module: str) -> Path:
    path = SOURCES.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@pytest.mark.parametrize("name", LAZY_MODULES)
def test_lazy_modules_exist(name: str) -> None:
    file = Path(*name.split("."))
    assert any((Path(folder) / one).exists() for folder in sys.path for one in (file / "__init__.py", file.with_suffix(".py")))


@contextmanager
def run_server(folder: Path, *options: str) -> Iterator[str]:
    """Runs a server and yields its URL as soon as it has printed its start line."""
    command = [sys.executable, "-m", "probate", *ARGUMENTS, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=folder, text=True) as process:
        try:
            assert process.stdout is not None
            greeting = re.match(r"probate: serving (\S+) ", process.stdout.readline())
            assert greeting is not None
            yield greeting[1]
        finally:
            process.terminate()
        assert process.wait(20) == 0


def test_simulated_nodes_exist_when_the_server_is_ready(tmp_path: Path) -> None:
    with run_server(tmp_path, "--nodes", "3") as address, urllib.request.urlopen(f"{address}/api/v1/nodes", timeout=20) as response:  # noqa: S310
        assert [one["metadata"]["name"] for one in orjson.loads(response.read())["items"]] == ["node-1", "node-2", "node-3"]


def crd_with_validation_rule(name: str) -> dict[str, Any]:
    """Returns a CustomResourceDefinition whose schema has a CEL validation rule."""
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
FIRST_REQUESTS: list[tuple[str, str, dict[str, Any], int]] = [
    ("GET", "/api/v1/namespaces", {"headers": TABLE}, 200),
    ("GET", "/openapi/v3", {}, 200),
    ("GET", "/metrics", {}, 200),
    ("GET", "/debug/ownership?namespace=default", {}, 200),
    ("POST", "/api/v1/namespaces/default/configmaps", {"headers": YAML, "content": "metadata: {name: x}"}, 201),
    ("POST", "/api/v1/namespaces/default/pods", {"json": {"metadata": {"name": "x"}}}, 422),
    ("POST", REVIEW, {"json": {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}}, 201),
    ("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {"json": crd_with_validation_rule("things")}, 201),
]


def test_first_requests_that_need_lazy_modules_succeed(tmp_path: Path) -> None:
    def ask(first: tuple[str, str, dict[str, Any], int]) -> tuple[str, int]:
        method, path, arguments, _ = first
        return path, httpx.request(method, address + path, timeout=20, **arguments).status_code

    with run_server(tmp_path) as address:
        with ThreadPoolExecutor(len(FIRST_REQUESTS)) as pool:
            assert list(pool.map(ask, FIRST_REQUESTS)) == [(path, code) for _, path, _, code in FIRST_REQUESTS]
        thing = {"metadata": {"name": "x"}, "spec": {"a": 1}, "apiVersion": "late.example.com/v1", "kind": "Thing"}
        invalid = httpx.post(f"{address}/apis/late.example.com/v1/things", json=thing)
    assert (invalid.status_code, invalid.json()["details"]["causes"][0]["field"]) == (422, "spec")
