"""A tenant as its users see it: a real server with TLS, and kubectl with the kubeconfig that the server issues."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from support.kubectl_program import Kubectl
from support.server_process import ServerProcess, run_server

TENANTS = "/apis/tenant.kubezoo.io/v1alpha1/tenants"
CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.a.com}
spec:
  group: a.com
  names: {plural: foos, kind: Foo}
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
CONTROLLERS = ",".join(
    (
        "garbage-collector-controller",
        "namespace-controller",
        "customresourcedefinition-finalizer-controller",
        "tenant-deletion-controller",
    )
)
"""Without the controller that provisions tenants: the tests create what they need."""
FOO = "apiVersion: a.com/v1\nkind: Foo\nmetadata: {name: x}\nsize: 3\n"


def tenant_yaml(tenant: str) -> str:
    """Returns a tenant with a namespace `shop` and a user `admin` who may do anything, as an administrator creates them."""
    objects = [
        {"apiVersion": "tenant.kubezoo.io/v1alpha1", "kind": "Tenant", "metadata": {"name": tenant}},
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"{tenant}-shop"}},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": f"{tenant}-owner"},
            "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, {"nonResourceURLs": ["*"], "verbs": ["*"]}],
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"{tenant}-owner"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": f"{tenant}-owner"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": f"{tenant}-admin"}],
        },
    ]
    return yaml.safe_dump_all(objects)


class Platform:
    """A server with two tenants, and kubectls of its administrator and of their users."""

    def __init__(self, server: ServerProcess, program: Path, folder: Path) -> None:
        self.program, self.folder = program, folder
        self.admin = Kubectl(program, server.kubeconfig, folder / "admin", folder=folder)
        for tenant in ("111111", "222222"):
            self.create(tenant)

    def create(self, tenant: str) -> None:
        (self.folder / "tenant.yaml").write_text(tenant_yaml(tenant))
        self.admin("apply", "-f", "tenant.yaml")

    def user(self, tenant: str, **spec: object) -> Kubectl:
        """Returns a kubectl with new credentials of a user of a tenant."""
        request = {"apiVersion": "tenant.kubezoo.io/v1alpha1", "kind": "TenantKubeconfig", "spec": spec}
        (self.folder / "request.json").write_text(json.dumps(request))
        answer = json.loads(self.admin("create", "--raw", f"{TENANTS}/{tenant}/kubeconfig", "-f", "request.json"))
        kubeconfig = self.folder / f"{tenant}.kubeconfig"
        kubeconfig.write_text(answer["status"]["kubeconfig"])
        return Kubectl(self.program, kubeconfig, self.folder / tenant, folder=self.folder)

    def apply(self, kubectl: Kubectl, text: str) -> str:
        (self.folder / "objects.yaml").write_text(text)
        return kubectl("apply", "-f", "objects.yaml")


@pytest.fixture(scope="module")
def platform(kubectls: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("platform")
    with run_server(folder, "memory:", "--controllers", CONTROLLERS) as server:
        yield Platform(server, kubectls / "1.37" / "kubectl", folder)


def test_user_works_in_a_cluster_of_its_own(platform: Platform) -> None:
    user = platform.user("111111", groups=["staff"])
    assert "admin" in user("auth", "whoami")
    assert "[staff system:authenticated]" in user("auth", "whoami")
    assert user("auth", "can-i", "*", "*", "-A") == "yes\n"
    assert user("get", "namespaces", "-o", "name") == "namespace/shop\n"
    assert user("create", "namespace", "web") == "namespace/web created\n"
    assert user("create", "configmap", "c", "-n", "web", "--from-literal=k=v") == "configmap/c created\n"
    assert user("get", "configmap", "c", "-n", "web", "-o", "jsonpath={.data.k} {.metadata.namespace}") == "v web"
    assert platform.admin("get", "configmaps", "-A", "-o", "jsonpath={.items[*].metadata.namespace}") == "111111-web"
    other = platform.user("222222")
    assert "NotFound" in other("get", "namespace", "web", fails=True)
    assert other("get", "configmaps", "-A") == "No resources found\n"


def test_custom_kinds_of_a_tenant_are_its_own(platform: Platform) -> None:
    user, other = platform.user("111111"), platform.user("222222")
    assert "created" in platform.apply(user, CRD)
    user("wait", "--for=condition=established", "crd/foos.a.com", "--timeout=10s")
    assert platform.apply(user, FOO) == "foo.a.com/x created\n"
    assert user("get", "foos", "-o", "jsonpath={.items[*].size}") == "3"
    assert "foos" in user("api-resources", "--api-group=a.com")
    assert "foos" not in other("api-resources")
    assert "error" in other("get", "--raw", "/apis/a.com", fails=True).lower()
    assert "error" in other("get", "--raw", "/apis/111111-a.com", fails=True).lower()
    assert platform.admin("get", "foos.111111-a.com", "-o", "jsonpath={.items[*].metadata.name}") == "111111-x"
    assert "created" in platform.apply(other, CRD)  # the same names in another tenant


def test_service_account_of_a_tenant_acts_in_its_view(platform: Platform) -> None:
    user = platform.user("111111")
    user("create", "serviceaccount", "robot", "-n", "shop")
    token = user("create", "token", "robot", "-n", "shop").strip()
    config = yaml.safe_load((platform.folder / "111111.kubeconfig").read_text())
    config["users"][0]["user"] = {"token": token}
    (platform.folder / "robot.kubeconfig").write_text(yaml.safe_dump(config))
    robot = Kubectl(platform.program, platform.folder / "robot.kubeconfig", platform.folder / "robot", folder=platform.folder)
    path = "/api/v1/namespaces/shop/configmaps"
    refused = robot("get", "--raw", path, "-v=8", fails=True)
    assert "system:serviceaccount:shop:robot" in refused
    assert "111111" not in refused.replace("111111.kubeconfig", "")
    user("create", "rolebinding", "robot", "-n", "shop", "--clusterrole=owner", "--serviceaccount=shop:robot")
    assert json.loads(robot("get", "--raw", path))["kind"] == "ConfigMapList"
    assert "Forbidden" in robot("get", "--raw", "/api/v1/configmaps", fails=True)


def test_platform_does_not_exist_for_tenants(platform: Platform) -> None:
    user = platform.user("111111")
    for path in ("/metrics", TENANTS, "/debug/ownership", "/.well-known/openid-configuration", "/readyz/store"):
        assert "NotFound" in user("get", "--raw", path, fails=True) or "404" in user("get", "--raw", path, fails=True)
    assert user("get", "--raw", "/livez") == "ok"
    assert "doesn't have a resource type" in user("get", "tenants", fails=True)


def test_credentials_end_with_their_tenant(platform: Platform) -> None:
    platform.create("333333")
    user = platform.user("333333")
    assert user("get", "namespaces", "-o", "name") == "namespace/shop\n"
    platform.admin("delete", "tenant", "333333", "--timeout=60s")
    refused = user("get", "namespaces", fails=True)
    assert "Unauthorized" in refused or "must be logged in" in refused
    platform.create("333333")
    assert "logged in" in user("get", "namespaces", fails=True)
    assert platform.user("333333")("get", "namespaces", "-o", "name") == "namespace/shop\n"


def test_requests_for_kubeconfigs_need_a_right(platform: Platform) -> None:
    ask = ("create", "--raw", f"{TENANTS}/111111/kubeconfig", "-f", "request.json", "--as", "ann")
    (platform.folder / "request.json").write_text("{}")
    assert 'cannot create resource "tenants/kubeconfig"' in platform.admin(*ask, fails=True)
