"""Table columns of RoleBindings and ClusterRoleBindings. (Roles have the generic columns.)"""

from __future__ import annotations

from typing import Any

from probate.api.objects import Object
from probate.api.printers import ages, object_fields
from probate.api.printers.columns import AGE, NAME, Printer, text, wide


def _binding(binding: Object, now: float) -> list[Any]:
    role = object_fields.mapping(binding, "roleRef")
    subjects = object_fields.objects(binding, "subjects")
    return [
        object_fields.name(binding),
        f"{object_fields.text(role, 'kind')}/{object_fields.text(role, 'name')}",
        ages.object_age(binding, now),
        *(_subjects(subjects, kind) for kind in ("User", "Group", "ServiceAccount")),
    ]


def _subjects(subjects: list[Object], kind: str) -> str:
    return ", ".join(_subject(one, kind) for one in subjects if one.get("kind") == kind)


def _subject(subject: Object, kind: str) -> str:
    name = object_fields.text(subject, "name")
    return f"{object_fields.text(subject, 'namespace')}/{name}" if kind == "ServiceAccount" else name


_COLUMNS = (
    NAME,
    text("Role", "The role that is bound."),
    AGE,
    wide("Users", "The users that the role is bound to."),
    wide("Groups", "The groups that the role is bound to."),
    wide("ServiceAccounts", "The service accounts that the role is bound to."),
)
_GROUP = "rbac.authorization.k8s.io"

PRINTERS = {
    (_GROUP, "rolebindings"): Printer(_COLUMNS, _binding),
    (_GROUP, "clusterrolebindings"): Printer(_COLUMNS, _binding),
}
