"""Roles and their bindings: which group a name belongs to."""

from __future__ import annotations

from probate.kinds.shared.object_fields import Object, fill_zero, items, made

_GROUP = "rbac.authorization.k8s.io"


def default_binding(binding: Object) -> None:
    """Fill a RoleBinding or a ClusterRoleBinding. Users and groups are of this group, service accounts of the core one."""
    if (reference := made(binding, "roleRef")) is not None:
        fill_zero(reference, apiGroup=_GROUP)
    for subject in items(binding, "subjects"):
        if subject.get("kind") in ("User", "Group"):
            fill_zero(subject, apiGroup=_GROUP)
