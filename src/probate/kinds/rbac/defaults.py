"""Sets the defaults of role bindings: the API groups of roles and subjects."""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.shared.object_fields import ensure_child, fill_zero, items

_GROUP = "rbac.authorization.k8s.io"


def default_binding(binding: Object) -> None:
    """Sets the defaults of a RoleBinding or a ClusterRoleBinding.

    Users and groups belong to the RBAC group, service accounts to the core group.
    """
    if (reference := ensure_child(binding, "roleRef")) is not None:
        fill_zero(reference, apiGroup=_GROUP)
    for subject in items(binding, "subjects"):
        if subject.get("kind") in ("User", "Group"):
            fill_zero(subject, apiGroup=_GROUP)
