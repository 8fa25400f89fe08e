"""What tenants create with kubectl is gone with them: native cluster-scoped objects, CRDs, custom resources, provisioned volumes.

Two tenants create the same. One is deleted: in the raw store nothing of it is left, and all records of the other tenant and of
the platform are the same, with their revisions.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from support import raw_stores
from support.server_process import run_server
from support.tenant_site import TenantSite, TenantUser

TIMEOUT = "--timeout=90s"
DELAYS = ("--pod-start-delay", "0.1s", "--pod-stop-delay", "0.1s")
_numbers = itertools.count(1)


@pytest.fixture(scope="module", params=["sqlite", pytest.param("etcd", marks=pytest.mark.long)])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, kubectls: Path) -> Iterator[TenantSite]:
    folder = tmp_path_factory.mktemp("site")
    if request.param == "etcd":
        member = request.getfixturevalue("etcd_member")
        address, read_store = f"etcd://{member.endpoint}/tenants", raw_stores.etcd_root(member, "tenants")
    else:
        address, read_store = "sqlite:probate.db", raw_stores.sqlite_file(folder / "probate.db")
    with run_server(folder, address, "--nodes", "1", *DELAYS) as server:
        yield TenantSite(server, programs=kubectls, folder=folder, read_store=read_store)


class Stage(NamedTuple):
    """Two tenants: `gone` will be deleted, `kept` will not."""

    site: TenantSite
    folder: Path
    gone_id: str
    kept_id: str
    gone: TenantUser
    kept: TenantUser

    @property
    def users(self) -> tuple[TenantUser, TenantUser]:
        return self.gone, self.kept

    def create(self, *objects: Any) -> None:
        """Creates the same objects in both tenants."""
        file = self.file(*objects)
        for user in self.users:
            user.kubectl("create", "-f", file)

    def file(self, *objects: Any) -> Path:
        path = self.folder / f"objects-{next(_numbers)}.yaml"
        path.write_text(yaml.safe_dump_all(objects))
        return path

    def wait(self, *arguments: str) -> None:
        for user in self.users:
            user.kubectl("wait", *arguments, TIMEOUT)

    def wait_until_complete(self, namespace: str) -> None:
        """Waits until controllers have created what each namespace has."""
        for one in ("serviceaccount/default", "configmap/kube-root-ca.crt"):
            self.wait("-n", namespace, one, "--for=create")

    def assert_stored(self, *pairs: tuple[str, str]) -> None:
        """Asserts that both tenants see the first name of each pair, and administrators the second, with a tenant's id for ID."""
        for seen, physical in pairs:
            for tenant, user in zip((self.gone_id, self.kept_id), self.users, strict=True):
                assert seen in user.kubectl("get", seen.partition("/")[0], "-A", "-o", "name").split()
                label = ("-o", r"jsonpath={.metadata.labels.kubezoo\.io/tenant}")
                kind, _, name = physical.replace("ID", tenant).rpartition("/")
                namespace, _, kind = kind.rpartition("/")
                assert self.site.admin("get", kind, name, *(("-n", namespace) if namespace else ()), *label) == tenant

    def delete_tenant(self) -> None:
        """Deletes one of the tenants, and asserts that this changes nothing else."""
        before = self.site.read_store()
        assert any(self.gone_id in key for key in before)
        self.site.admin("delete", "tenant", self.gone_id, TIMEOUT)
        self.site.assert_nothing_is_left(self.gone_id, before)


@pytest.fixture
def stage(site: TenantSite, tmp_path: Path) -> Stage:
    number = next(_numbers)
    gone_id, kept_id = f"gone{number:02}", f"kept{number:02}"
    stage = Stage(site, tmp_path, gone_id, kept_id, site.create(gone_id), site.create(kept_id))
    for namespace in ("default", "kube-node-lease", "kube-public", "kube-system"):
        stage.wait_until_complete(namespace)
    return stage


VOLUME_SPEC = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/disk"}}
WEBHOOK = {
    "name": "orders.example.com",
    "clientConfig": {"url": "https://127.0.0.1:1/"},
    "rules": [{"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["orders"]}],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}
NATIVE = (
    {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "disk"}, "spec": VOLUME_SPEC},
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 7},
    *(
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": "hooks"},
            "webhooks": [WEBHOOK],
        }
        for kind in ("Mutating", "Validating")
    ),
)


def test_native_cluster_scoped_objects(stage: Stage) -> None:
    stage.create(*NATIVE)
    stage.wait("pv/disk", "--for=jsonpath={.status.phase}=Available")
    stage.assert_stored(
        ("persistentvolume/disk", "pv/ID-disk"),
        ("priorityclass.scheduling.k8s.io/urgent", "priorityclass/ID-urgent"),
        ("mutatingwebhookconfiguration.admissionregistration.k8s.io/hooks", "mutatingwebhookconfiguration/ID-hooks"),
        ("validatingwebhookconfiguration.admissionregistration.k8s.io/hooks", "validatingwebhookconfiguration/ID-hooks"),
    )
    stage.delete_tenant()


def definition(group: str, scope: str, labels: dict[str, str] | None = None) -> Any:
    """Returns a CRD with kind Ware."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": group, "scope": scope, "names": {"plural": "wares", "kind": "Ware"}, "versions": [version]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"wares.{group}", "labels": labels or {}},
        "spec": spec,
    }


def ware(group: str, name: str, **meta: Any) -> Any:
    return {"apiVersion": f"{group}/v1", "kind": "Ware", "metadata": {"name": name, **meta}}


def test_definitions_and_their_objects(stage: Stage) -> None:
    stage.create(definition("shop.example.com", "Namespaced"))
    stage.wait("crd/wares.shop.example.com", "--for=condition=Established")
    web = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}}
    stage.create(web, *(ware("shop.example.com", "apple", namespace=namespace) for namespace in ("default", "web")))
    stage.wait_until_complete("web")
    stage.assert_stored(
        ("customresourcedefinition.apiextensions.k8s.io/wares.shop.example.com", "crd/wares.ID-shop.example.com"),
        ("ware.shop.example.com/apple", "ID-default/wares.ID-shop.example.com/apple"),
        ("ware.shop.example.com/apple", "ID-web/wares.ID-shop.example.com/apple"),
    )
    stage.delete_tenant()


def test_cluster_scoped_custom_resources(stage: Stage) -> None:
    """The tenants' CRDs have the same name. That of the platform serves all of them."""
    shared = f"{stage.kept_id[-2:]}.land.example.com"
    labels = {"kubezoo.io/shared": "true"}
    stage.site.admin("create", "-f", stage.file(definition(shared, "Cluster", labels)))
    stage.site.admin("wait", f"crd/wares.{shared}", "--for=condition=Established", TIMEOUT)
    stage.site.admin("create", "-f", stage.file(ware(shared, "apple"), ware(shared, "quince")))
    stage.create(definition("shop.example.com", "Cluster"))
    stage.wait("crd/wares.shop.example.com", "--for=condition=Established")
    stage.create(ware("shop.example.com", "apple"), ware(shared, "apple"))
    stage.assert_stored(
        ("ware.shop.example.com/apple", "wares.ID-shop.example.com/ID-apple"),
        (f"ware.{shared}/apple", f"wares.{shared}/ID-apple"),
    )
    for user in stage.users:
        assert user.kubectl("get", f"wares.{shared}", "-o", "name") == f"ware.{shared}/apple\n"
        refused = user.kubectl("delete", "crd", f"wares.{shared}", fails=True)
        assert "Forbidden" in refused
    stage.delete_tenant()
    assert stage.site.admin("get", f"wares.{shared}", "-o", "name").split() == [
        f"ware.{shared}/{name}" for name in ("apple", f"{stage.kept_id}-apple", "quince")
    ]


def test_provisioned_volumes(stage: Stage) -> None:
    """Also those that are to be retained when their claim is deleted."""
    class_ = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "slow"},
        "provisioner": "probate.dev/hostpath",
        "reclaimPolicy": "Retain",
    }
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "slow", "resources": {"requests": {"storage": "1Gi"}}}
    claims = [
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}
        for name in ("data", "released")
    ]
    stage.create(class_, *claims)
    stage.wait("pvc/data", "pvc/released", "--for=jsonpath={.status.phase}=Bound")
    for user in stage.users:
        volume = user.kubectl("get", "pvc", "released", "-o", "jsonpath={.spec.volumeName}")
        user.kubectl("delete", "pvc", "released", TIMEOUT)
        user.kubectl("wait", f"pv/{volume}", "--for=jsonpath={.status.phase}=Released", TIMEOUT)
        assert len(user.kubectl("get", "pv", "-o", "name").split()) == 2
        assert user.kubectl("get", "pv", volume, "-o", "jsonpath={.spec.persistentVolumeReclaimPolicy}") == "Retain"
    stage.delete_tenant()
