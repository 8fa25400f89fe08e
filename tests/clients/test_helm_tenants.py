"""Two tenants install, upgrade and uninstall the same chart, with its CRD, at the same time and under the same names."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.client_programs import Program
from support.client_sessions import NamespaceClient
from support.server_process import ServerProcess
from support.tenant_site import TenantSite

CHART = Path(__file__).parent / "chart"
WAIT = ("--wait", "--timeout", "90s")
CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/wares.shop.example.com"


class ChartRelease(NamedTuple):
    """The release of one tenant, and the value that is only in it."""

    note: str
    helm: Program
    client: NamespaceClient

    def run(self, command: str, *options: str | Path) -> None:
        self.helm(command, "shop", *options, "-n", self.client.namespace, *WAIT)

    @property
    def status(self) -> tuple[int, str]:
        found = json.loads(self.helm("status", "shop", "-n", self.client.namespace, "-o", "json"))
        return int(found["version"]), found["info"]["status"]


@pytest.fixture(params=["3.17", "4.3"])
def releases(request: pytest.FixtureRequest, server: ServerProcess, kubectls: Path, tmp_path: Path) -> Iterator[list[ChartRelease]]:
    site, number = TenantSite(server, programs=kubectls, folder=tmp_path), request.param.replace(".", "")
    helm = kubectls / f"helm-{request.param}" / "helm"
    with ExitStack() as clients:
        found = []
        for letter in "ab":
            kubeconfig = site.create(f"{letter}-{number:0>4}").kubeconfig
            client = clients.enter_context(NamespaceClient(server.url, kubeconfig, "shop"))
            client.create_namespace()
            found.append(ChartRelease(f"from-{letter}", site.program(kubeconfig, helm), client))
        yield found


def at_the_same_time(releases: list[ChartRelease], act: Callable[[ChartRelease], Any]) -> None:
    with ThreadPoolExecutor(len(releases)) as pool:
        list(pool.map(act, releases))


@pytest.mark.long
def test_two_tenants_use_the_same_chart_at_the_same_time(releases: list[ChartRelease]) -> None:
    at_the_same_time(releases, lambda one: one.run("install", CHART, "--set", f"note={one.note}", "--set", "replicas=1"))
    for one in releases:
        assert one.status == (1, "deployed")
        assert one.client.get("configmaps", "shop")["data"]["note"] == one.note
        assert one.client.get("shop.example.com/v1/wares", "apple")["spec"]["labels"] == {"note": one.note}
    at_the_same_time(releases, lambda one: one.run("upgrade", CHART, "--set", f"note={one.note}-2", "--set", "replicas=2"))
    for one in releases:
        assert one.status == (2, "deployed")
        assert one.client.get("apps/v1/deployments", "shop")["status"]["readyReplicas"] == 2
        assert one.client.get("configmaps", "shop")["data"]["note"] == f"{one.note}-2"
    first, second = releases
    first.run("uninstall")
    assert first.client.names("apps/v1/deployments") == []
    assert second.status == (2, "deployed")
    assert second.client.names("apps/v1/deployments") == ["shop"]
    second.run("uninstall")
    for one in releases:
        assert one.client.names("shop.example.com/v1/wares") == []
        definition = one.client.ask("GET", CRD).json()
        assert "deletionTimestamp" not in definition["metadata"]  # helm does not delete CRDs
