"""A helm release of the chart: a CRD, all hooks, and a dozen kinds that must become ready."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from support.client_programs import Program
from support.client_sessions import NamespaceClient

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
"""The resources that only the chart creates in a namespace."""


class HelmVariant(NamedTuple):
    """A helm version, its options, and its option to roll back a failed release."""

    version: str
    options: tuple[str, ...]
    undo: str


VARIANTS = {
    "3.17": HelmVariant("3.17", (), "--atomic"),
    "4.3": HelmVariant("4.3", (), "--rollback-on-failure"),
    "4.3-client-side": HelmVariant("4.3", ("--server-side=false",), "--rollback-on-failure"),
}


@pytest.fixture(params=["3.17", "4.3"])
def variant(request: pytest.FixtureRequest) -> HelmVariant:
    return VARIANTS[request.param]


@pytest.fixture
def helm(variant: HelmVariant, kubectls: Path, kubeconfig: Path, home: Path) -> Program:
    return Program(kubectls / f"helm-{variant.version}" / "helm", kubeconfig, home / f"helm-{variant.version}")


def release(helm: Program, client: NamespaceClient) -> tuple[int, str]:
    """Returns the revision and the status of the release."""
    found = json.loads(helm("status", "shop", "-n", client.namespace, "-o", "json"))
    return int(found["version"]), found["info"]["status"]


def hooks_run(client: NamespaceClient) -> dict[str, str]:
    """Returns the last revision in which each hook has run."""
    hooks = [one for one in client.all("configmaps") if one["metadata"]["name"].startswith("seen-")]
    return {one["metadata"]["name"].removeprefix("seen-"): one["data"]["revision"] for one in hooks}


def assert_release(client: NamespaceClient, note: str, replicas: int) -> None:
    """Asserts that the release matches these values and is ready."""
    deployment = client.get("apps/v1/deployments", "shop")
    assert (deployment["spec"]["replicas"], deployment["status"]["readyReplicas"]) == (replicas, replicas)
    assert deployment["spec"]["template"]["spec"]["containers"][0]["env"] == [{"name": "NOTE", "value": note}]
    assert client.get("apps/v1/daemonsets", "shop")["status"]["numberReady"] == 3
    assert client.get("apps/v1/statefulsets", "shop")["status"]["readyReplicas"] == 1
    assert client.get("persistentvolumeclaims", "shop")["status"]["phase"] == "Bound"
    assert client.get("configmaps", "shop")["data"] == {"note": note, "known": "true"}
    ware = {"price": replicas, "currency": "EUR", "labels": {"note": note}}
    assert client.get("shop.example.com/v1/wares", "apple")["spec"] == ware
    assert client.names("batch/v1/jobs") == [f"shop-{note}"]  # the Jobs of hooks are deleted when they complete
    assert ("extra" in client.names("configmaps")) == (note == "second")


def test_release_from_install_to_uninstall(helm: Program, variant: HelmVariant, client: NamespaceClient) -> None:
    here = ("-n", client.namespace)
    helm("install", "shop", CHART, *here, *WAIT, "--wait-for-jobs", *variant.options)
    assert release(helm, client) == (1, "deployed")
    assert_release(client, "first", replicas=2)
    assert client.get("batch/v1/jobs", "shop-first")["status"]["succeeded"] == 1
    assert "Succeeded" in helm("test", "shop", *here, "--timeout", "90s")

    helm("upgrade", "shop", CHART, *here, *WAIT, *SECOND)
    assert_release(client, "second", replicas=3)
    assert "Failed" in helm("test", "shop", *here, "--timeout", "90s", fails=True)

    assert REFUSAL in helm("upgrade", "shop", CHART, *here, *WAIT, *BROKEN, variant.undo, fails=True)
    assert release(helm, client) == (4, "deployed")
    assert_release(client, "second", replicas=3)

    helm("rollback", "shop", "1", *here, *WAIT)
    assert release(helm, client) == (5, "deployed")
    assert_release(client, "first", replicas=2)

    helm("uninstall", "shop", *here, *WAIT)
    assert [kind for kind in KINDS if client.names(kind)] == []
    assert client.names("pods") == ["open"]  # the pod of `helm test`, which helm does not delete
    installed = {"pre-install": "1", "post-install": "1", "pre-upgrade": "3", "post-upgrade": "2"}
    assert hooks_run(client) == {**installed, **dict.fromkeys(("pre-rollback", "post-rollback", "pre-delete", "post-delete"), "1")}
    definition = client.ask("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/wares.shop.example.com").json()
    assert "deletionTimestamp" not in definition["metadata"]  # helm does not delete CRDs either


@pytest.mark.parametrize("variant", ["4.3"], indirect=True)
def test_field_of_another_manager_is_a_conflict_until_forced(helm: Program, kubectl: Program, client: NamespaceClient) -> None:
    here = ("-n", client.namespace)
    helm("install", "shop", CHART, *here)
    kubectl(*here, "scale", "deployment", "shop", "--replicas=7")
    said = helm("upgrade", "shop", CHART, *here, *SECOND, fails=True)
    assert 'conflict with "kubectl" with subresource "scale" using apps/v1' in said
    assert client.get("apps/v1/deployments", "shop")["spec"]["replicas"] == 7
    helm("upgrade", "shop", CHART, *here, *SECOND, "--force-conflicts")
    assert client.get("apps/v1/deployments", "shop")["spec"]["replicas"] == 3
    helm("uninstall", "shop", *here)


@pytest.mark.parametrize("variant", ["4.3-client-side"], indirect=True)
def test_release_moves_from_client_side_to_server_side_apply(helm: Program, variant: HelmVariant, client: NamespaceClient) -> None:
    here = ("-n", client.namespace)
    helm("install", "shop", CHART, *here, *variant.options)
    helm("upgrade", "shop", CHART, *here, *SECOND, "--server-side=true")
    assert client.get("apps/v1/deployments", "shop")["spec"]["replicas"] == 3
    assert client.get("configmaps", "shop")["data"]["note"] == "second"
    helm("rollback", "shop", "1", *here)
    assert client.get("shop.example.com/v1/wares", "apple")["spec"]["price"] == 2
    helm("uninstall", "shop", *here)
    assert client.names("apps/v1/deployments") == []
