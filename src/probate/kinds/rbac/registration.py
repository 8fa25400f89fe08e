"""Registers the kinds of the API group rbac.authorization.k8s.io: one row for each."""

from __future__ import annotations

from probate.kinds.kind import Kind, Validation
from probate.kinds.rbac import columns, defaults, validation

KINDS = (
    Kind(
        group="rbac.authorization.k8s.io",
        name="ClusterRole",
        validation=lambda: Validation(create=validation.check_cluster_role),
    ),
    Kind(
        group="rbac.authorization.k8s.io",
        name="ClusterRoleBinding",
        plural="clusterrolebindings",
        defaults=lambda: defaults.default_binding,
        validation=lambda: Validation(create=validation.check_cluster_role_binding, update=validation.update_binding),
        columns=lambda: columns.PRINTERS["rbac.authorization.k8s.io", "clusterrolebindings"],
    ),
    Kind(
        group="rbac.authorization.k8s.io",
        name="Role",
        validation=lambda: Validation(create=validation.check_role),
    ),
    Kind(
        group="rbac.authorization.k8s.io",
        name="RoleBinding",
        plural="rolebindings",
        defaults=lambda: defaults.default_binding,
        validation=lambda: Validation(create=validation.check_role_binding, update=validation.update_binding),
        columns=lambda: columns.PRINTERS["rbac.authorization.k8s.io", "rolebindings"],
    ),
)
