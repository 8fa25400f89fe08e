"""What a tenant that `probate tenant create` has made can do at once: the Service of its server, volumes that are provisioned."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.kubectl_program import Kubectl
from support.server_process import ServerProcess, run_server

ID = "team-a"
CLASS = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {{name: {name}}}
provisioner: probate.dev/hostpath
reclaimPolicy: {policy}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: {name}}}
spec: {{storageClassName: {name}, accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}
"""
SECONDS = "--timeout=30s"


class NewTenant:
    """A server with all controllers, and kubectls of its administrator and of the administrator of a tenant."""

    def __init__(self, server: ServerProcess, program: Path, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.command("create", ID, "-o", str(folder / "tenant.kubeconfig"))
        self.admin = Kubectl(program, server.kubeconfig, folder / "admin", folder=folder)
        self.user = Kubectl(program, folder / "tenant.kubeconfig", folder / "user", folder=folder)

    def command(self, *arguments: str) -> str:
        line = [sys.executable, "-m", "probate", "tenant", *arguments, "--kubeconfig", str(self.server.kubeconfig)]
        return subprocess.run(line, capture_output=True, text=True, timeout=60, check=True).stdout

    def claim(self, name: str, policy: str) -> dict[str, Any]:
        """Creates a class and a claim of it. Returns the claim once it is bound."""
        (self.folder / "claim.yaml").write_text(CLASS.format(name=name, policy=policy))
        self.user("apply", "-f", "claim.yaml")
        self.user("wait", f"pvc/{name}", "--for=jsonpath={.status.phase}=Bound", SECONDS)
        claim: dict[str, Any] = json.loads(self.user("get", "pvc", name, "-o", "json"))
        return claim


@pytest.fixture(scope="module")
def made(kubectls: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NewTenant]:
    folder = tmp_path_factory.mktemp("new-tenant")
    with run_server(folder, "memory:") as server:
        yield NewTenant(server, kubectls / "1.37" / "kubectl", folder)


def test_cluster_has_the_service_of_its_server(made: NewTenant) -> None:
    made.user("wait", "svc/kubernetes", "--for=create", SECONDS)
    port = json.loads(made.user("get", "svc", "kubernetes", "-o", "json"))["spec"]["ports"][0]
    assert (port["port"], port["targetPort"]) == (443, int(made.server.url.rpartition(":")[2]))
    made.user("wait", "endpointslice/kubernetes", "--for=create", SECONDS)
    assert f"is running at {made.server.url.replace('localhost', '127.0.0.1')}" in made.user("cluster-info", NO_COLOR="1")
    made.user("wait", "sa/default", "cm/kube-root-ca.crt", "--for=create", SECONDS)


def test_provisioned_volume_is_seen_in_both_views_and_goes_with_its_claim(made: NewTenant) -> None:
    name = made.claim("deleted", "Delete")["spec"]["volumeName"]
    assert name.startswith("pvc-")
    volume = json.loads(made.user("get", "pv", name, "-o", "json"))
    assert volume["spec"]["claimRef"]["namespace"] == "default"
    assert (volume["spec"]["storageClassName"], volume["spec"]["persistentVolumeReclaimPolicy"]) == ("deleted", "Delete")
    physical = json.loads(made.admin("get", "pv", f"{ID}-{name}", "-o", "json"))
    assert physical["metadata"]["uid"] == volume["metadata"]["uid"]
    assert physical["spec"]["claimRef"]["namespace"] == f"{ID}-default"
    made.user("delete", "pvc", "deleted", SECONDS)
    made.user("wait", f"pv/{name}", "--for=delete", SECONDS)
    assert "NotFound" in made.admin("get", "pv", f"{ID}-{name}", fails=True)


def test_retained_volume_outlives_its_claim_but_not_its_tenant(made: NewTenant) -> None:
    name = made.claim("retained", "Retain")["spec"]["volumeName"]
    made.user("delete", "pvc", "retained", SECONDS)
    made.user("wait", f"pv/{name}", "--for=jsonpath={.status.phase}=Released", SECONDS)
    made.claim("bound-to-the-end", "Retain")
    made.command("delete", ID, "--yes", "--wait")
    assert made.admin("get", "pv,pvc,storageclass", "-A", "-l", f"kubezoo.io/tenant={ID}") == "No resources found\n"
    assert made.admin("get", "pv") == "No resources found\n"
    assert "nothing found in 0 objects" in made.command("verify", ID)
