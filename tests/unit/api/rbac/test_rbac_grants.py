"""The subjects of a binding: users, groups, and service accounts, whose namespace defaults to the binding's."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.rbac import users
from probate.api.rbac.rule_resolver import RuleResolver
from probate.api.rbac.users import User

ROBOT = users.service_account_user("a", "robot")


@pytest.mark.parametrize(
    ("subject", "user", "is_granted"),
    [
        ({"kind": "User", "name": "ann"}, User("ann"), True),
        ({"kind": "User", "name": "ann"}, User("bob", ("ann",)), False),
        ({"kind": "Group", "name": "ann"}, User("ann"), False),
        ({"kind": "Group", "name": "staff"}, User("bob", ("staff",)), True),
        ({"kind": "Group", "name": "system:serviceaccounts:a"}, ROBOT, True),
        ({"kind": "Group", "name": "system:serviceaccounts:b"}, ROBOT, False),
        ({"kind": "ServiceAccount", "name": "robot"}, ROBOT, True),
        ({"kind": "ServiceAccount", "name": "robot", "namespace": "a"}, ROBOT, True),
        ({"kind": "ServiceAccount", "name": "robot", "namespace": "b"}, ROBOT, False),
        ({"kind": "ServiceAccount", "name": "robot"}, users.service_account_user("b", "robot"), False),
        ({"kind": "User", "name": "system:serviceaccount:a:robot"}, ROBOT, True),
        ({"kind": "Nonsense", "name": "ann"}, User("ann"), False),
    ],
)
def test_subjects(subject: dict[str, Any], user: User, *, is_granted: bool) -> None:
    resolver = RuleResolver()
    resolver.put("rolebindings", "a", "b", object_={"roleRef": {"kind": "Role", "name": "r"}, "subjects": [subject, subject]})
    assert bool(list(resolver.bound_roles(user, "a"))) is is_granted
    assert not list(resolver.bound_roles(user, ""))
    resolver.put("rolebindings", "a", "b", object_=None)
    assert not list(resolver.bound_roles(user, "a"))


@pytest.mark.parametrize(
    ("name", "account"),
    [
        ("system:serviceaccount:a:robot", ("a", "robot")),
        ("system:serviceaccount:a", None),
        ("system:serviceaccount:a:b:c", None),
        ("system:serviceaccount::b", None),
        ("ann", None),
    ],
)
def test_names_of_service_accounts(name: str, account: tuple[str, str] | None) -> None:
    assert users.parse_service_account_username(name) == account
