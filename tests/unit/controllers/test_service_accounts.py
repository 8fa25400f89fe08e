"""The table of controllers: every row can be started, and acts as a user with some rights and not all."""

from __future__ import annotations

import pytest

from probate.api.rbac import bootstrap_roles
from probate.api.rbac.policy_rules import ResourceAttributes
from probate.api.rbac.rule_resolver import RuleResolver
from probate.api.rbac.user_rules import UserRules
from probate.controllers import registry

MAY_BIND_ROLES = {registry.TENANTS}
"""It binds each tenant's administrator to the tenant's own cluster-admin, and RBAC has no rule for names that begin with an ID."""
THROUGH_THE_API = (*registry.API_CONTROLLERS, *registry.EVERY_SERVER_CONTROLLERS)


def test_names_and_aliases_are_unique() -> None:
    names = [name for row in registry.CONTROLLERS for name in {row.name, row.alias} if name]
    assert len(names) == len(set(names))


def test_every_controller_has_start_functions_or_acts_in_bulk() -> None:
    for row in registry.CONTROLLERS:
        assert bool(row.start) is (row.trigger is None)
    registry.load(registry.NAMES)


@pytest.mark.parametrize("name", THROUGH_THE_API)
def test_least_rights(name: str) -> None:
    grants = RuleResolver()
    for resource, object_ in bootstrap_roles.bootstrap_objects():
        grants.put(resource, object_["metadata"].get("namespace", ""), object_["metadata"]["name"], object_=object_)
    user = registry.user_of(name)
    rights = UserRules(grants, user)
    own = [one for where in ("", "kube-system") for one in grants.bound_roles(user, where) if one.subject == f"User {user.name}"]
    assert any(one.rules for one in own), f"{user.name} has no rule: add a role and its binding to bootstrap_roles.txt"
    assert not user.is_superuser
    for verb, resource in (("*", "*"), ("get", "secrets"), ("delete", "namespaces"), ("impersonate", "users")):
        assert not rights.allow(ResourceAttributes(verb, "", resource, namespace="default", name="x")), (verb, resource)
    bind = ResourceAttributes("bind", "rbac.authorization.k8s.io", "clusterroles", name="cluster-admin")
    assert rights.allow(bind) is (name in MAY_BIND_ROLES)
