"""A release of the chart with helm: a kind of its own, hooks at every turn, and a dozen kinds that have to become ready."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from support.client_programs import Program
from support.client_sessions import Look
from support.server_process import Server

CHART = Path(__file__).parent / "chart"
WAIT = ("--wait", "--timeout", "90s")
SECOND = ("--set", "note=second", "--set", "replicas=3", "--set", "extra=true", "--set", "image=shop:2")
BROKEN = (*SECOND, "--set", "broken=true")
REFUSAL = "spec.ports[0].port: Invalid value: 123456: must be between 1 and 65535, inclusive"
KINDS = (
    *("secrets", "services", "persistentvolumeclaims", "batch/v1/jobs", "batch/v1/cronjobs"),
    *("apps/v1/deployments", "apps/v1/statefulsets", "apps/v1/daemonsets", "autoscaling/v2/horizontalpodautoscalers"),
    *("networking.k8s.io/v1/ingresses", "networking.k8s.io/v1/networkpolicies", "policy/v1/poddisruptionbudgets"),
    *("rbac.authorization.k8s.io/v1/roles", "rbac.authorization.k8s.io/v1/rolebindings", "shop.example.com/v1/wares"),
)
"""What the chart has in a namespace, and what nobody else makes there."""


class Way(NamedTuple):
    """A helm, what it is told so that it writes in this way, and how it is told to undo what fails."""

    version: str
    options: tuple[str, ...]
    undo: str


WAYS = {
    "3.17": Way("3.17", (), "--atomic"),
    "4.3": Way("4.3", (), "--rollback-on-failure"),
    "4.3-client-side": Way("4.3", ("--server-side=false",), "--rollback-on-failure"),
}


@pytest.fixture(params=["3.17", "4.3"])
def way(request: pytest.FixtureRequest) -> Way:
    return WAYS[request.param]


@pytest.fixture
def helm(way: Way, kubectls: Path, server: Server, homes: Path) -> Program:
    return Program(kubectls / f"helm-{way.version}" / "helm", server.kubeconfig, homes / f"helm-{way.version}")


def release(helm: Program, look: Look) -> tuple[int, str]:
    """The number of the release as it stands, and its state."""
    found = json.loads(helm("status", "shop", "-n", look.namespace, "-o", "json"))
    return int(found["version"]), found["info"]["status"]


def seen_hooks(look: Look) -> dict[str, str]:
    """Which hooks there have been, and in which revision last."""
    hooks = [one for one in look.all("configmaps") if one["metadata"]["name"].startswith("seen-")]
    return {one["metadata"]["name"].removeprefix("seen-"): one["data"]["revision"] for one in hooks}


def assert_is(look: Look, note: str, replicas: int) -> None:
    """The release is as these values make it, and all of it is ready."""
    deployment = look.get("apps/v1/deployments", "shop")
    assert (deployment["spec"]["replicas"], deployment["status"]["readyReplicas"]) == (replicas, replicas)
    assert deployment["spec"]["template"]["spec"]["containers"][0]["env"] == [{"name": "NOTE", "value": note}]
    assert look.get("apps/v1/daemonsets", "shop")["status"]["numberReady"] == 3
    assert look.get("apps/v1/statefulsets", "shop")["status"]["readyReplicas"] == 1
    assert look.get("persistentvolumeclaims", "shop")["status"]["phase"] == "Bound"
    assert look.get("configmaps", "shop")["data"] == {"note": note, "known": "true"}
    ware = {"price": replicas, "currency": "EUR", "labels": {"note": note}}
    assert look.get("shop.example.com/v1/wares", "apple")["spec"] == ware
    assert look.names("batch/v1/jobs") == [f"shop-{note}"]  # those of hooks are gone when they are done
    assert ("extra" in look.names("configmaps")) == (note == "second")


def test_a_release_lives_from_its_installation_to_its_end(helm: Program, way: Way, look: Look) -> None:
    here = ("-n", look.namespace)
    helm("install", "shop", CHART, *here, *WAIT, "--wait-for-jobs", *way.options)
    assert release(helm, look) == (1, "deployed")
    assert_is(look, "first", replicas=2)
    assert look.get("batch/v1/jobs", "shop-first")["status"]["succeeded"] == 1
    assert "Succeeded" in helm("test", "shop", *here, "--timeout", "90s")

    helm("upgrade", "shop", CHART, *here, *WAIT, *SECOND)
    assert_is(look, "second", replicas=3)
    assert "Failed" in helm("test", "shop", *here, "--timeout", "90s", fails=True)

    assert REFUSAL in helm("upgrade", "shop", CHART, *here, *WAIT, *BROKEN, way.undo, fails=True)
    assert release(helm, look) == (4, "deployed")
    assert_is(look, "second", replicas=3)

    helm("rollback", "shop", "1", *here, *WAIT)
    assert release(helm, look) == (5, "deployed")
    assert_is(look, "first", replicas=2)

    helm("uninstall", "shop", *here, *WAIT)
    assert [kind for kind in KINDS if look.names(kind)] == []
    assert look.names("pods") == ["open"]  # the test's, which helm leaves
    installed = {"pre-install": "1", "post-install": "1", "pre-upgrade": "3", "post-upgrade": "2"}
    assert seen_hooks(look) == {**installed, **dict.fromkeys(("pre-rollback", "post-rollback", "pre-delete", "post-delete"), "1")}
    definition = look.ask("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/wares.shop.example.com").json()
    assert "deletionTimestamp" not in definition["metadata"]  # helm leaves definitions too


@pytest.mark.parametrize("way", ["4.3"], indirect=True)
def test_what_somebody_else_has_set_is_a_conflict_until_it_is_forced(helm: Program, kubectl: Program, look: Look) -> None:
    here = ("-n", look.namespace)
    helm("install", "shop", CHART, *here)
    kubectl(*here, "scale", "deployment", "shop", "--replicas=7")
    said = helm("upgrade", "shop", CHART, *here, *SECOND, fails=True)
    assert 'conflict with "kubectl" with subresource "scale" using apps/v1' in said
    assert look.get("apps/v1/deployments", "shop")["spec"]["replicas"] == 7
    helm("upgrade", "shop", CHART, *here, *SECOND, "--force-conflicts")
    assert look.get("apps/v1/deployments", "shop")["spec"]["replicas"] == 3
    helm("uninstall", "shop", *here)


@pytest.mark.parametrize("way", ["4.3-client-side"], indirect=True)
def test_a_release_moves_from_the_client_to_the_server(helm: Program, way: Way, look: Look) -> None:
    here = ("-n", look.namespace)
    helm("install", "shop", CHART, *here, *way.options)
    helm("upgrade", "shop", CHART, *here, *SECOND, "--server-side=true")
    assert look.get("apps/v1/deployments", "shop")["spec"]["replicas"] == 3
    assert look.get("configmaps", "shop")["data"]["note"] == "second"
    helm("rollback", "shop", "1", *here)
    assert look.get("shop.example.com/v1/wares", "apple")["spec"]["price"] == 2
    helm("uninstall", "shop", *here)
    assert look.names("apps/v1/deployments") == []
