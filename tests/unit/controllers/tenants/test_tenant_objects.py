"""What a tenant has, seen by the tenant, is what an ordinary cluster has."""

from __future__ import annotations

from probate.api import tenants
from probate.api.gvk import GroupResource
from probate.api.rbac import bootstrap_roles
from probate.controllers.tenants.tenant_objects import NAMESPACES, is_tenant_object, tenant_objects
from probate.tenants.view.name_converter import ToTenant
from probate.tenants.view.object_conversion import to_tenant
from support.tenant_platform import SamplePlatform

ID = "111111"


def test_tenant_sees_kubernetes_roles_and_bindings() -> None:
    ordinary = {(seed.resource, seed.object["metadata"]["name"]): seed.object for seed in bootstrap_roles.bootstrap_objects()}
    names = ToTenant(tenants.prefix_of(ID), SamplePlatform())
    for resource, object_ in tenant_objects(ID):
        if resource == NAMESPACES:
            continue
        seen = to_tenant(names, GroupResource("rbac.authorization.k8s.io", resource), object_)
        same = dict(ordinary[resource, seen["metadata"]["name"]])
        if (resource, seen["metadata"]["name"]) == ("clusterrolebindings", "cluster-admin"):
            same["subjects"] = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "admin"}]
        assert seen == same


def test_objects_are_recognised_by_their_names() -> None:
    assert all(is_tenant_object(resource, object_["metadata"]["name"]) for resource, object_ in tenant_objects(ID))
    assert not is_tenant_object(NAMESPACES, f"{ID}-web")
    assert not is_tenant_object("clusterroles", f"{ID}-default")
