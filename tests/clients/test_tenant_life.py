"""The life of a tenant as its users and the administrator see it, with kubectl and `probate tenant`: columns, a deletion that a
finalizer holds up, and a tenant that is created again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from support import raw_stores
from support.server_process import run_server
from support.tenant_site import TenantSite, TenantUser

TIMEOUT = "--timeout=90s"
HELD = '{"metadata": {"finalizers": ["example.com/held"]}}'
RELEASED = '{"metadata": {"finalizers": null}}'
CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: wares.shop.example.com}
spec:
  group: shop.example.com
  names: {plural: wares, kind: Ware}
  scope: Cluster
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /disk}}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, kubectls: Path) -> Iterator[TenantSite]:
    folder = tmp_path_factory.mktemp("site")
    with run_server(folder, "sqlite:probate.db") as server:
        yield TenantSite(server, programs=kubectls, folder=folder, read_store=raw_stores.sqlite_file(folder / "probate.db"))


def rows(output: str) -> list[list[str]]:
    """Returns the columns of a table, without the last one, which is the age."""
    return [line.split()[:-1] for line in output.splitlines()]


def test_columns_of_tenants(site: TenantSite) -> None:
    red, header = site.create("red-01"), ["NAME", "PHASE", "OBJECTS", "REMAINING", "WAITING-FOR"]
    assert rows(site.admin("get", "tenants")) == [header, ["red-01", "Active", "<none>", "<none>", "<none>"]]
    assert rows(site.command("list")) == rows(site.admin("get", "tenants"))
    red.kubectl("create", "configmap", "held")
    red.kubectl("patch", "configmap", "held", "-p", HELD)
    assert site.command("delete", "red-01", "--yes") == "tenant red-01 is being deleted\n"
    site.admin("wait", "tenant/red-01", "--for=jsonpath={.status.waitingFor}", TIMEOUT)
    [_, row] = rows(site.admin("get", "tenants"))
    assert (row[:2], row[4:]) == (["red-01", "Terminating"], ["finalizer", "example.com/held", "(1)"])
    assert 0 < int(row[3]) <= int(row[2])
    red.kubectl("patch", "configmap", "held", "-p", RELEASED)
    site.admin("wait", "tenant/red-01", "--for=delete", TIMEOUT)
    assert site.admin("get", "tenants") == "No resources found\n"
    assert site.command("list") == ""


def test_user_ends_a_deletion_that_a_finalizer_holds_up(site: TenantSite) -> None:
    red, before = site.create("red-02"), site.read_store()
    red.kubectl("create", "namespace", "web")
    for name in ("held", "free"):
        red.kubectl("-n", "web", "create", "configmap", name)
    red.kubectl("-n", "web", "patch", "configmap", "held", "-p", HELD)
    with site.deleting("red-02") as deletion:
        assert deletion.stderr is not None
        assert next(line for line in deletion.stderr if "waiting for finalizer example.com/held (1)" in line)
        refused = red.kubectl("-n", "web", "create", "configmap", "late", fails=True)
        assert "nothing can be created in tenant red-02 because it is being terminated" in refused
        assert red.kubectl("-n", "web", "get", "configmaps", "-o", "name") == "configmap/held\n"
        assert "the tenant red-02 is not gone after 1 s" in site.run("delete", "red-02", "--wait", "--timeout", "1s").stderr
        red.kubectl("-n", "web", "patch", "configmap", "held", "-p", RELEASED)
        assert deletion.stdout is not None
        assert deletion.stdout.read() == "tenant red-02 deleted\n"
        assert deletion.wait(60) == 0
    site.assert_nothing_is_left("red-02", before)
    assert site.command("verify", "red-02").startswith("tenant red-02: nothing found in 0 objects")


def robot(site: TenantSite, user: TenantUser, path: Path) -> TenantUser:
    """Returns a service account that may do anything in the tenant."""
    user.kubectl("create", "serviceaccount", "robot")
    user.kubectl("create", "clusterrolebinding", "robot", "--clusterrole=cluster-admin", "--serviceaccount=default:robot")
    config = yaml.safe_load(user.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": user.kubectl("create", "token", "robot").strip()}
    path.write_text(yaml.safe_dump(config))
    return TenantUser(path, site.program(path))


def contents(user: TenantUser) -> list[tuple[str, str]]:
    """Returns kind and name of the objects that tenants create in these tests."""
    found = json.loads(user.kubectl("get", "namespaces,pv,crd,configmaps,clusterrolebindings", "-A", "-o", "json"))["items"]
    return sorted((one["kind"], one["metadata"]["name"]) for one in found if one["metadata"]["name"] != "kube-root-ca.crt")


def test_nothing_of_a_tenant_is_in_the_next_one_with_its_id(site: TenantSite, tmp_path: Path) -> None:
    old, before = site.create("red-03"), site.read_store()
    new_contents = contents(old)
    old_robot = robot(site, old, tmp_path / "robot.kubeconfig")
    (tmp_path / "crd.yaml").write_text(CRD)
    old_robot.kubectl("create", "-f", tmp_path / "crd.yaml")
    old.kubectl("create", "namespace", "web")
    old.kubectl("create", "configmap", "secret-plan", "-n", "web")
    assert {("Namespace", "web"), ("PersistentVolume", "disk"), ("ConfigMap", "secret-plan")} <= set(contents(old_robot))
    kept = old.kubeconfig.rename(tmp_path / "old.kubeconfig")
    assert site.command("delete", "red-03", "--yes", "--wait") == "tenant red-03 deleted\n"
    site.assert_nothing_is_left("red-03", before)

    new = site.create("red-03")
    new.kubectl("create", "serviceaccount", "robot")
    for path in (kept, old_robot.kubeconfig):
        assert "You must be logged in to the server" in site.program(path)("get", "namespaces", fails=True)
    assert contents(new) == new_contents
    assert "the server doesn't have a resource type" in new.kubectl("get", "wares", fails=True)
    assert "red-03   Active" in site.admin("get", "tenants")


def test_kubeconfig_of_another_user_of_a_tenant(site: TenantSite, tmp_path: Path) -> None:
    red, path = site.create("red-04"), tmp_path / "ann.kubeconfig"
    site.command("kubeconfig", "red-04", "--user", "ann", "--group", "staff", "-o", str(path))
    ann = site.program(path)
    assert '"ann" cannot list resource "pods"' in ann("get", "pods", fails=True)
    red.kubectl("create", "rolebinding", "staff", "--clusterrole=view", "--group=staff")
    assert ann("get", "pods") == "No resources found in default namespace.\n"
    site.command("delete", "red-04", "--yes", "--wait")
