"""Validates roles and role bindings."""

from __future__ import annotations

from probate.api import names
from probate.api.field_errors import FieldPath, invalid, not_supported, required, too_many
from probate.kinds.shared.field_checks import Problems, Value, check_name, check_optional_name, child, each, is_same, items, text
from probate.kinds.shared.selector_validation import check_label_selector

GROUP = "rbac.authorization.k8s.io"
MAX_SELECTORS = 100
"""The maximum number of selectors of an aggregated ClusterRole.

Each is matched against all ClusterRoles whenever one changes. Kubernetes has no such limit.
"""


def check_role(role: Value) -> Problems:
    """Validates a Role, whose rules apply to resources only."""
    for rule, at in each(role, FieldPath(), "rules"):
        yield from _check_rule(rule, at, is_namespaced=True)


def check_cluster_role(role: Value) -> Problems:
    """Validates a ClusterRole, which may aggregate others."""
    for rule, at in each(role, FieldPath(), "rules"):
        yield from _check_rule(rule, at, is_namespaced=False)
    aggregation, path = role.get("aggregationRule"), FieldPath("aggregationRule")
    if aggregation is None:
        return
    if not items(aggregation, "clusterRoleSelectors"):
        yield required(path / "clusterRoleSelectors", "at least one clusterRoleSelector required if aggregationRule is non-nil")
    if (given := len(items(aggregation, "clusterRoleSelectors"))) > MAX_SELECTORS:
        yield too_many(path / "clusterRoleSelectors", given, MAX_SELECTORS)
        return
    for selector, at in each(aggregation, path, "clusterRoleSelectors"):
        yield from check_label_selector(selector, at)


def check_role_binding(binding: Value) -> Problems:
    """Validates a RoleBinding."""
    yield from _check_role_ref(child(binding, "roleRef"), ("Role", "ClusterRole"))
    for subject, at in each(binding, FieldPath(), "subjects"):
        yield from _check_subject(subject, at, is_namespaced=True)


def check_cluster_role_binding(binding: Value) -> Problems:
    """Validates a ClusterRoleBinding."""
    yield from _check_role_ref(child(binding, "roleRef"), ("ClusterRole",))
    for subject, at in each(binding, FieldPath(), "subjects"):
        yield from _check_subject(subject, at, is_namespaced=False)


def update_binding(new: Value, old: Value) -> Problems:
    """Validates that the role reference does not change; only the subjects may."""
    one, other = ({"apiGroup": GROUP, **child(binding, "roleRef")} for binding in (new, old))
    if not is_same(one, other):
        yield invalid(FieldPath("roleRef"), new.get("roleRef"), "cannot change roleRef")


def _check_rule(rule: Value, path: FieldPath, *, is_namespaced: bool) -> Problems:
    if not items(rule, "verbs"):
        yield required(path / "verbs", "verbs must contain at least one value")
    urls = items(rule, "nonResourceURLs")
    if not urls:
        if not items(rule, "apiGroups"):
            yield required(path / "apiGroups", "resource rules must supply at least one api group")
        if not items(rule, "resources"):
            yield required(path / "resources", "resource rules must supply at least one resource")
        return
    if is_namespaced:
        yield invalid(path / "nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs")
    if items(rule, "apiGroups") or items(rule, "resources") or items(rule, "resourceNames"):
        yield invalid(path / "nonResourceURLs", urls, "rules cannot apply to both regular resources and non-resource URLs")


def _check_role_ref(reference: Value, kinds: tuple[str, ...]) -> Problems:
    path, group = FieldPath("roleRef"), text(reference, "apiGroup") or GROUP
    if group != GROUP:
        yield not_supported(path / "apiGroup", group, [GROUP])
    if text(reference, "kind") not in kinds:
        yield not_supported(path / "kind", text(reference, "kind"), kinds)
    yield from check_name(reference, path, "name", rule=names.validate_path_segment)


def _check_subject(subject: Value, path: FieldPath, *, is_namespaced: bool) -> Problems:
    kind, group = text(subject, "kind"), text(subject, "apiGroup")
    if not text(subject, "name"):
        yield required(path / "name")
    if kind == "ServiceAccount":
        yield from check_optional_name(subject, path, "name", rule=names.validate_dns_subdomain)
        if group:
            yield not_supported(path / "apiGroup", group, [""])
        if not is_namespaced and not text(subject, "namespace"):
            yield required(path / "namespace")
    elif kind in {"User", "Group"}:
        if group not in {"", GROUP}:
            yield not_supported(path / "apiGroup", group, [GROUP])
    else:
        yield not_supported(path / "kind", kind, ["ServiceAccount", "User", "Group"])
