"""Indexes all roles and role bindings by subject, so that resolving the rules of a user does not read the bindings of other users.

The owner of the resolver reports every change (`put`). `generation` counts the changes, so that results computed before one are
known to be outdated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from probate.api.objects import Object
from probate.api.rbac import policy_rules
from probate.api.rbac.policy_rules import PolicyRule
from probate.api.rbac.users import User, service_account_username

GROUP = "rbac.authorization.k8s.io"
ROLES, CLUSTER_ROLES = "roles", "clusterroles"
BINDINGS, CLUSTER_BINDINGS = "rolebindings", "clusterrolebindings"
RESOURCES = (ROLES, CLUSTER_ROLES, BINDINGS, CLUSTER_BINDINGS)


class NamespacedName(NamedTuple):
    """The key of a role or a binding. `namespace` is empty for ClusterRoles and ClusterRoleBindings."""

    namespace: str
    name: str


class Binding(NamedTuple):
    """The role that a binding grants. `subjects` are users and groups, as `_subject` formats them."""

    role: NamespacedName
    subjects: tuple[str, ...]


class BoundRole(NamedTuple):
    """A binding to a user, and the rules of its role; None if the role does not exist."""

    binding: NamespacedName
    role: NamespacedName
    rules: tuple[PolicyRule, ...] | None
    subject: str  # the subject that matches the user: "User ann"


class RuleResolver:
    """Resolves the roles that are bound to a user."""

    def __init__(self) -> None:
        self.generation = 0
        self._roles: dict[NamespacedName, tuple[PolicyRule, ...]] = {}
        self._bindings: dict[NamespacedName, Binding] = {}
        self._by_subject: dict[str, dict[str, dict[NamespacedName, Binding]]] = {}  # by subject, then by the binding's namespace

    def put(self, resource: str, namespace: str, name: str, *, object_: Object | None) -> None:
        """Stores the current state of a role or binding; None if it was deleted."""
        self.generation += 1
        key = NamespacedName(namespace, name)
        if resource in {ROLES, CLUSTER_ROLES}:
            if object_ is None:
                self._roles.pop(key, None)
            else:
                self._roles[key] = policy_rules.rules_of_role(object_)
            return
        self._unbind(key)
        if object_ is not None:
            self._bind(key, parse_binding(object_, namespace))

    def clear(self) -> None:
        """Removes all roles and bindings."""
        self.generation += 1
        self._roles, self._bindings, self._by_subject = {}, {}, {}

    def role(self, key: NamespacedName) -> tuple[PolicyRule, ...] | None:
        """Returns the rules of a role; None if it does not exist."""
        return self._roles.get(key)

    def bound_roles(self, user: User, namespace: str) -> Iterator[BoundRole]:
        """Yields the roles bound to the user in this namespace; with an empty namespace, those bound by ClusterRoleBindings."""
        for subject in user_subjects(user):
            for key, binding in self._by_subject.get(subject, {}).get(namespace, {}).items():
                yield BoundRole(key, binding.role, self._roles.get(binding.role), subject)

    def _bind(self, key: NamespacedName, binding: Binding) -> None:
        self._bindings[key] = binding
        for subject in binding.subjects:
            self._by_subject.setdefault(subject, {}).setdefault(key.namespace, {})[key] = binding

    def _unbind(self, key: NamespacedName) -> None:
        binding = self._bindings.pop(key, None)
        for subject in dict.fromkeys(binding.subjects) if binding is not None else ():
            by_namespace = self._by_subject[subject]
            del by_namespace[key.namespace][key]
            if not by_namespace[key.namespace]:
                del by_namespace[key.namespace]
            if not by_namespace:
                del self._by_subject[subject]


def parse_binding(object_: Object, namespace: str) -> Binding:
    """Parses a RoleBinding of this namespace, or a ClusterRoleBinding."""
    subjects = [_subject(value, namespace) for value in object_.get("subjects") or ()]
    return Binding(role_ref(object_, namespace), tuple(subject for subject in subjects if subject))


def role_ref(binding: Object, namespace: str) -> NamespacedName:
    """Returns the key of the role that a binding refers to."""
    reference = binding.get("roleRef") or {}
    return NamespacedName(namespace if reference.get("kind") == "Role" else "", str(reference.get("name") or ""))


def user_subjects(user: User) -> Iterator[str]:
    """Yields all subjects that match the user."""
    yield f"User {user.name}"
    for group in user.groups:
        yield f"Group {group}"


def _subject(value: Object, namespace: str) -> str:
    kind, name = value.get("kind"), str(value.get("name") or "")
    if kind != "ServiceAccount":
        return f"{kind} {name}" if kind in {"User", "Group"} else ""
    account_namespace = value.get("namespace") or namespace
    return f"User {service_account_username(str(account_namespace), name)}" if account_namespace else ""
