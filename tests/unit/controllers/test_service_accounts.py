"""Every controller acts as somebody of its own, who is granted something, and not everything."""

from __future__ import annotations

import pytest

from probate.api.rbac import bootstrap_roles
from probate.api.rbac.grants import Grants
from probate.api.rbac.policy_rules import Ask
from probate.api.rbac.user_rules import Rights
from probate.controllers import manager, registry

ACTING = (*manager.THROUGH_THE_API, *manager.IN_EVERY_SERVER)


def test_all_who_can_be_chosen_can_be_started() -> None:
    assert {*registry.STARTS} == {*ACTING}


@pytest.mark.parametrize("name", ACTING)
def test_least_rights(name: str) -> None:
    grants = Grants()
    for resource, object_ in bootstrap_roles.seeds():
        grants.put(resource, object_["metadata"].get("namespace", ""), object_["metadata"]["name"], object_)
    user = manager.user_of(name)
    rights = Rights(grants, user)
    own = [one for where in ("", "kube-system") for one in grants.granted(user, where) if one.subject == f"User {user.name}"]
    assert any(one.rules for one in own)
    assert not user.is_master
    for verb, resource in (("*", "*"), ("get", "secrets"), ("delete", "namespaces"), ("impersonate", "users")):
        assert not rights.allow(Ask(verb, "", resource, namespace="default", name="x")), (verb, resource)
    assert not rights.allow(Ask("bind", "rbac.authorization.k8s.io", "clusterroles", name="cluster-admin"))
