"""Renames the references of one object, in place, by the rows of `reference_paths`.

A value of an unexpected type stays as it is: a stored object of any shape can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from probate.api.gvk import GroupKind, GroupResource, GroupVersion
from probate.api.objects import Object
from probate.tenants.view import reference_paths
from probate.tenants.view.name_converter import NameConverter
from probate.tenants.view.namespace_selectors import rename_selector
from probate.tenants.view.reference_paths import Reference

Renamer = Callable[[NameConverter, Any], Any]
"""Returns the renamed value of a field; it may change a map in place and return it."""

_STORAGE_CLASS_QUOTA = f".storageclass.{reference_paths.STORAGE_CLASSES.group}/"
_COUNT = "count/"


def rename_references(names: NameConverter, resource: GroupResource, object_: Object) -> None:
    """Renames every reference of an object of this resource, in place. `resource` is as the built-in catalog names it."""
    for reference in reference_paths.references_of(str(resource)):
        for place, key in _locations(object_, reference.path):
            place[key] = _renamed(names, reference, place[key])


def _locations(value: Any, path: tuple[str, ...]) -> Iterator[tuple[Any, Any]]:
    """Yields each map and field, or list and index, that the path leads to and that exists."""
    step, rest = path[0], path[1:]
    found: list[Any]
    if step == "[]":
        found = list(range(len(value))) if isinstance(value, list) else []
    else:
        found = [step] if isinstance(value, dict) and step in value else []
    for key in found:
        if rest:
            yield from _locations(value[key], rest)
        else:
            yield value, key


def _renamed(names: NameConverter, reference: Reference, value: Any) -> Any:
    if isinstance(reference.target, GroupResource):
        return names.cluster_scoped(reference.target, value) if isinstance(value, str) else value
    is_expected, rename = _RENAMERS[reference.target]
    return rename(names, value) if isinstance(value, is_expected) else value


def rename_object_reference(names: NameConverter, reference: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Renames an object reference: its namespace, its name if the kind is cluster-scoped, and its API group."""
    name, kind = _text(reference, "name"), _group_kind(reference)
    if _text(reference, "namespace"):
        reference["namespace"] = names.namespace(reference["namespace"])
    if name and kind is not None:
        reference["name"] = names.object_name(kind, name)
    return rename_type(names, reference)


def rename_type(names: NameConverter, reference: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Renames the API group that a reference names in `apiVersion` or `apiGroup`, together with its kind."""
    kind = _text(reference, "kind")
    if _text(reference, "apiVersion"):
        reference["apiVersion"] = names.api_version(reference["apiVersion"], kind)
    if _text(reference, "apiGroup"):
        reference["apiGroup"] = names.kind(GroupKind(reference["apiGroup"], kind)).group
    return reference


def _rename_subject(names: NameConverter, subject: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    name = _text(subject, "name")
    match subject.get("kind"):
        case "ServiceAccount" if _text(subject, "namespace"):
            subject["namespace"] = names.namespace(subject["namespace"])
        case "User" if name:
            subject["name"] = names.user(name)
        case "Group" if name:
            subject["name"] = names.user_group(name)
        case _:
            pass
    return subject


def _rename_flow_subject(names: NameConverter, subject: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    account, user, group = (subject.get(kind) for kind in ("serviceAccount", "user", "group"))
    if isinstance(account, dict) and _text(account, "namespace") not in {"", "*"}:
        account["namespace"] = names.namespace(account["namespace"])
    if isinstance(user, dict) and _text(user, "name") not in {"", "*"}:
        user["name"] = names.user(user["name"])
    if isinstance(group, dict) and _text(group, "name"):
        group["name"] = names.user_group(group["name"])
    return subject


def _rename_role(names: NameConverter, reference: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    if reference.get("kind") == "ClusterRole" and _text(reference, "name"):
        reference["name"] = names.cluster_scoped(reference_paths.CLUSTER_ROLES, reference["name"])
    return reference


def _rename_quota_keys(names: NameConverter, amounts: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    return {_quota_key(names, key): amount for key, amount in amounts.items()}


def _quota_key(names: NameConverter, key: str) -> str:
    """Renames `count/<plural>.<group>` and `<storage class>.storageclass.storage.k8s.io/<resource>`."""
    if key.startswith(_COUNT):
        plural, dot, group = key.removeprefix(_COUNT).partition(".")
        return f"{_COUNT}{names.resource(GroupResource(group, plural))}" if dot else key
    name, found, amount = key.partition(_STORAGE_CLASS_QUOTA)
    return f"{names.cluster_scoped(reference_paths.STORAGE_CLASSES, name)}{found}{amount}" if found else key


def _rename_scope_values(names: NameConverter, expression: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    values = expression.get("values")
    if expression.get("scopeName") == "PriorityClass" and isinstance(values, list):
        expression["values"] = [
            names.cluster_scoped(reference_paths.PRIORITY_CLASSES, value) if isinstance(value, str) else value for value in values
        ]
    return expression


def _group_kind(reference: MutableMapping[str, Any]) -> GroupKind | None:
    kind = _text(reference, "kind")
    group = _text(reference, "apiGroup") or GroupVersion.parse(_text(reference, "apiVersion")).group
    return GroupKind(group, kind) if kind else None


def _text(value: MutableMapping[str, Any], field: str) -> str:
    found = value.get(field)
    return found if isinstance(found, str) else ""


_RENAMERS: dict[str, tuple[type, Renamer]] = {
    reference_paths.NAMESPACE: (str, lambda names, name: name if name == "*" else names.namespace(name)),
    reference_paths.GROUP: (str, lambda names, group: names.group(group)),
    reference_paths.NAMESPACE_SELECTOR: (dict, rename_selector),
    reference_paths.OBJECT: (dict, rename_object_reference),
    reference_paths.TYPED: (dict, rename_type),
    reference_paths.SUBJECT: (dict, _rename_subject),
    reference_paths.FLOW_SUBJECT: (dict, _rename_flow_subject),
    reference_paths.ROLE: (dict, _rename_role),
    reference_paths.USER: (str, lambda names, name: names.user(name)),
    reference_paths.USER_GROUP: (str, lambda names, name: names.user_group(name)),
    reference_paths.QUOTA_KEYS: (dict, _rename_quota_keys),
    reference_paths.PRIORITY_VALUES: (dict, _rename_scope_values),
}
