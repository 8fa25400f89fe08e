"""The objects that every tenant has: the namespaces, roles and bindings of a new cluster, named as in the physical view.

They are those of Kubernetes that a cluster of one team needs. Roles for kubelets, nodes and controllers are left out, because
these work for all tenants and have their rights in the physical view. The tenant's administrator is the user `<id>-admin`, which
the tenant sees as `admin`.
"""

from __future__ import annotations

from functools import cache

from probate.api import tenants
from probate.api.objects import Object
from probate.api.rbac import bootstrap_roles
from probate.api.rbac.bootstrap_roles import BootstrapObject
from probate.api.rbac.rule_resolver import CLUSTER_BINDINGS, CLUSTER_ROLES, GROUP

NAMESPACES = "namespaces"
NAMESPACE_NAMES = ("default", "kube-system", "kube-public", "kube-node-lease")
ADMIN = "admin"
"""The user to whom the role cluster-admin is bound."""

_CLUSTER_ADMIN = "cluster-admin"
_READABLE = ("system:basic-user", "system:discovery", "system:public-info-viewer")
_AGGREGATED = ("view", "edit", "admin")
_ROLES = {_CLUSTER_ADMIN, *_AGGREGATED, *(f"system:aggregate-to-{name}" for name in _AGGREGATED), *_READABLE}
_BINDINGS = {_CLUSTER_ADMIN, *_READABLE}
_SELECTED = {CLUSTER_ROLES: _ROLES, CLUSTER_BINDINGS: _BINDINGS}


def tenant_objects(tenant: str) -> list[BootstrapObject]:
    """Returns what a tenant must have, in the order in which it is created."""
    namespaces = [BootstrapObject(NAMESPACES, _namespace(tenant, name)) for name in NAMESPACE_NAMES]
    return namespaces + [BootstrapObject(seed.resource, _in_tenant(tenant, seed.object)) for seed in _rbac_objects()]


def is_tenant_object(resource: str, name: str) -> bool:
    """Whether a tenant must have the object of this name, which is physical."""
    return name[tenants.ID_LENGTH + 1 :] in _names()[resource]


@cache
def _names() -> dict[str, frozenset[str]]:
    return {NAMESPACES: frozenset(NAMESPACE_NAMES), **{resource: frozenset(names) for resource, names in _SELECTED.items()}}


@cache
def _rbac_objects() -> tuple[BootstrapObject, ...]:
    """Returns the roles and bindings under the names that the tenant sees. Cached and shared: do not modify them."""
    seeds = bootstrap_roles.bootstrap_objects()
    chosen = [_with_admin(seed) for seed in seeds if seed.object["metadata"]["name"] in _SELECTED.get(seed.resource, ())]
    return tuple(sorted(chosen, key=lambda seed: (seed.resource == CLUSTER_BINDINGS, _aggregation_rank(seed))))


def _aggregation_rank(seed: BootstrapObject) -> int:
    """Returns 0, or the place of an aggregated role: after all of its parts. So it has its rules from the beginning."""
    name = seed.object["metadata"]["name"]
    return 1 + _AGGREGATED.index(name) if seed.resource == CLUSTER_ROLES and name in _AGGREGATED else 0


def _with_admin(seed: BootstrapObject) -> BootstrapObject:
    """Returns the object; if it is the binding of cluster-admin, with the tenant's administrator as its subject."""
    if seed.resource != CLUSTER_BINDINGS or seed.object["metadata"]["name"] != _CLUSTER_ADMIN:
        return seed
    return seed._replace(object={**seed.object, "subjects": [{"apiGroup": GROUP, "kind": "User", "name": ADMIN}]})


def _namespace(tenant: str, name: str) -> Object:
    meta = {"name": f"{tenants.prefix_of(tenant)}{name}", "labels": {tenants.TENANT_LABEL: tenant}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}


def _in_tenant(tenant: str, seed: Object) -> Object:
    """Returns a role or binding with its physical names. Of the subjects, only users have a prefix: groups are the tenant's own."""
    prefix, meta = tenants.prefix_of(tenant), seed["metadata"]
    labels = {**meta["labels"], tenants.TENANT_LABEL: tenant}
    new = {**seed, "metadata": {**meta, "name": f"{prefix}{meta['name']}", "labels": labels}}
    if "roleRef" in seed:
        new["roleRef"] = {**seed["roleRef"], "name": f"{prefix}{seed['roleRef']['name']}"}
        new["subjects"] = [
            {**subject, "name": f"{prefix}{subject['name']}"} if subject["kind"] == "User" else subject
            for subject in seed["subjects"]
        ]
    return new
