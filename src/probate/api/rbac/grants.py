"""All roles and bindings, at hand: who is granted what is found without looking at what is granted to others.

Whoever keeps them tells of every change (`put`). `generation` counts them, so what was worked out from them is known to be old.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from probate.api.rbac import policy_rules
from probate.api.rbac.policy_rules import Rule
from probate.api.rbac.users import User, account_name

GROUP = "rbac.authorization.k8s.io"
ROLES, CLUSTER_ROLES = "roles", "clusterroles"
BINDINGS, CLUSTER_BINDINGS = "rolebindings", "clusterrolebindings"
RESOURCES = (ROLES, CLUSTER_ROLES, BINDINGS, CLUSTER_BINDINGS)

Object = Mapping[str, Any]


class Place(NamedTuple):
    """A role's or a binding's. `namespace` is empty for those of the cluster."""

    namespace: str
    name: str


class Binding(NamedTuple):
    """To whom a role is granted. `subjects` are users and groups, as `_subject` spells them."""

    role: Place
    subjects: tuple[str, ...]


class Granted(NamedTuple):
    """A binding that is about somebody, and its role's rules; None if there is no such role."""

    binding: Place
    role: Place
    rules: tuple[Rule, ...] | None
    subject: str  # what the binding calls them by: "User ann"


class Grants:
    """What is granted to whom."""

    def __init__(self) -> None:
        self.generation = 0
        self._roles: dict[Place, tuple[Rule, ...]] = {}
        self._bindings: dict[Place, Binding] = {}
        self._by_subject: dict[str, dict[str, dict[Place, Binding]]] = {}  # and by the namespace of the binding

    def put(self, resource: str, namespace: str, name: str, object_: Object | None) -> None:
        """This is what the role or binding of this name is now; None: it is gone."""
        self.generation += 1
        place = Place(namespace, name)
        if resource in {ROLES, CLUSTER_ROLES}:
            if object_ is None:
                self._roles.pop(place, None)
            else:
                self._roles[place] = policy_rules.of_role(object_)
            return
        self._unbind(place)
        if object_ is not None:
            self._bind(place, binding_of(object_, namespace))

    def clear(self) -> None:
        """Nothing is granted to anybody any more."""
        self.generation += 1
        self._roles, self._bindings, self._by_subject = {}, {}, {}

    def role(self, place: Place) -> tuple[Rule, ...] | None:
        """The rules of a role; None if there is none."""
        return self._roles.get(place)

    def granted(self, user: User, namespace: str) -> Iterator[Granted]:
        """What is granted to the user in this namespace alone; in all of the cluster, if it is empty."""
        for subject in subjects_of(user):
            for place, binding in self._by_subject.get(subject, {}).get(namespace, {}).items():
                yield Granted(place, binding.role, self._roles.get(binding.role), subject)

    def _bind(self, place: Place, binding: Binding) -> None:
        self._bindings[place] = binding
        for subject in binding.subjects:
            self._by_subject.setdefault(subject, {}).setdefault(place.namespace, {})[place] = binding

    def _unbind(self, place: Place) -> None:
        binding = self._bindings.pop(place, None)
        for subject in dict.fromkeys(binding.subjects) if binding is not None else ():
            spaces = self._by_subject[subject]
            del spaces[place.namespace][place]
            if not spaces[place.namespace]:
                del spaces[place.namespace]
            if not spaces:
                del self._by_subject[subject]


def binding_of(object_: Object, namespace: str) -> Binding:
    """A RoleBinding of this namespace, or a ClusterRoleBinding."""
    found = [_subject(one, namespace) for one in object_.get("subjects") or ()]
    return Binding(role_of(object_, namespace), tuple(one for one in found if one))


def role_of(binding: Object, namespace: str) -> Place:
    """The role that a binding is to."""
    reference = binding.get("roleRef") or {}
    return Place(namespace if reference.get("kind") == "Role" else "", str(reference.get("name") or ""))


def subjects_of(user: User) -> Iterator[str]:
    """All that bindings can call the user by."""
    yield f"User {user.name}"
    for group in user.groups:
        yield f"Group {group}"


def _subject(value: Object, namespace: str) -> str:
    kind, name = value.get("kind"), str(value.get("name") or "")
    if kind != "ServiceAccount":
        return f"{kind} {name}" if kind in {"User", "Group"} else ""
    within = value.get("namespace") or namespace
    return f"User {account_name(str(within), name)}" if within else ""
