"""Validation of `metadata` on create and on update, for built-in and custom kinds.

Kinds differ in three ways only: the rule for their names, whether they are namespaced, and, for built-in kinds, that a
finalizer must be qualified or one of Kubernetes' own. On update the server first fills in what a client may omit (uid,
creationTimestamp, deletionTimestamp, and the resourceVersion where `allows_unconditional_update`); a field that differs after
that was sent with another value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from probate.api import names
from probate.api.deletion import COLLECTOR_FINALIZERS, FOREGROUND_FINALIZER, FOREGROUND_FINALIZERS, ORPHAN_FINALIZER
from probate.api.field_errors import FieldError, FieldPath, forbidden, invalid, limit_field_errors, required, too_long

ObjectMeta = dict[str, Any]

MAX_ANNOTATIONS_BYTES = 256 * 1024

_STANDARD_FINALIZERS = COLLECTOR_FINALIZERS | {"kubernetes"}
_PATH = FieldPath("metadata")
_LABELS, _OWNER_REFERENCES = _PATH / "labels", _PATH / "ownerReferences"
_IMMUTABLE = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_REQUIRES_RESOURCE_VERSION = frozenset(
    {
        ("", "ServiceAccount"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("apiregistration.k8s.io", "APIService"),
        ("coordination.k8s.io", "Lease"),
        ("node.k8s.io", "RuntimeClass"),
        ("policy", "PodDisruptionBudget"),
        ("storage.k8s.io", "CSIDriver"),
        ("storage.k8s.io", "CSINode"),
        ("storage.k8s.io", "CSIStorageCapacity"),
        ("storage.k8s.io", "VolumeAttachment"),
        ("tenant.kubezoo.io", "Tenant"),
    }
)


_CREATED_BY_UPDATE = frozenset(
    (
        *(("", kind) for kind in ("Endpoints", "Event", "LimitRange", "Service")),
        *(("rbac.authorization.k8s.io", kind) for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")),
        ("coordination.k8s.io", "Lease"),
        ("events.k8s.io", "Event"),
    )
)


def is_created_by_update(group: str, kind: str) -> bool:
    """Returns whether a PUT of a built-in kind creates an absent object. A PUT of a custom kind never does."""
    return (group, kind) in _CREATED_BY_UPDATE


def allows_unconditional_update(group: str, kind: str) -> bool:
    """Returns whether a built-in kind accepts a PUT without a resourceVersion. Custom resources never do."""
    return group != "admissionregistration.k8s.io" and (group, kind) not in _REQUIRES_RESOURCE_VERSION


def validate_create(
    meta: ObjectMeta, *, is_namespaced: bool, name_rule: names.NameRule, is_custom: bool = False
) -> list[FieldError]:
    """Validates the metadata of a new object whose name is already generated."""
    errors = _validate_names(meta, name_rule) + _validate_namespace(meta, is_namespaced=is_namespaced)
    return errors + limit_field_errors(_validate_contents(meta, is_custom=is_custom))


def validate_update(new: ObjectMeta, old: ObjectMeta, *, is_custom: bool = False) -> list[FieldError]:
    """Validates the metadata of an object that replaces `old`."""
    path = _PATH
    errors = [
        *_validate_added_finalizers(new, old, path / "finalizers"),
        *limit_field_errors(_validate_contents(new, is_custom=is_custom)),
    ]
    if not new.get("resourceVersion"):
        errors.append(invalid(path / "resourceVersion", "", "must be specified for an update"))
    if (new.get("generation") or 0) < (old.get("generation") or 0):
        errors.append(invalid(path / "generation", new.get("generation"), "must not be decremented"))
    changed = [field for field in _IMMUTABLE if _empty_as_none(new.get(field)) != _empty_as_none(old.get(field))]
    return [*errors, *(invalid(path / field, new.get(field), "field is immutable") for field in changed)]


def validate_labels(labels: dict[str, str] | None, path: FieldPath) -> Iterator[FieldError]:
    """Validates that keys are qualified names and values are label values. Every error names the map, not the key."""
    for key, value in (labels or {}).items():
        if len(key) <= names.MAX_CACHED_LENGTH >= len(value or "") and names.is_valid_label(key, value or ""):
            continue
        for message in names.validate_qualified_name(key):
            yield invalid(path, key, message)
        for message in names.validate_label_value(value or ""):
            yield invalid(path, value, message)


def validate_annotations(annotations: dict[str, str] | None, path: FieldPath) -> Iterator[FieldError]:
    """Validates that keys, in either case, are qualified names and that the annotations together are not too large."""
    size = 0
    for key, value in (annotations or {}).items():
        yield from (invalid(path, key, message) for message in names.validate_qualified_name(key.lower()))
        size += len(key.encode(errors="replace")) + len((value or "").encode(errors="replace"))
    if size > MAX_ANNOTATIONS_BYTES:
        yield too_long(path, MAX_ANNOTATIONS_BYTES)


def validate_owner_references(references: list[ObjectMeta] | None, path: FieldPath) -> Iterator[FieldError]:
    """Validates that each reference is complete, that none names an Event, and that at most one is the controller.

    Errors name the list, as in Kubernetes.
    """
    for reference in references or []:
        yield from _validate_owner_reference(reference, path)
    controllers = [reference.get("name") or "" for reference in references or [] if reference.get("controller")]
    if len(controllers) > 1:
        detail = f"Only one reference can have Controller set to true. Found {', '.join(controllers)}"
        yield invalid(path, references, detail)


def validate_finalizers(finalizers: list[str] | None, path: FieldPath, *, is_custom: bool = False) -> Iterator[FieldError]:
    """Validates that each finalizer is a qualified name and that no two contradict each other."""
    for finalizer in finalizers or []:
        yield from (invalid(path, finalizer, message) for message in names.validate_qualified_name(finalizer))
    distinct = set(finalizers or [])
    if ORPHAN_FINALIZER in distinct and distinct & FOREGROUND_FINALIZERS:
        yield invalid(path, finalizers, f"finalizers {ORPHAN_FINALIZER} and {FOREGROUND_FINALIZER} cannot both be set")
    if not is_custom:
        for index, finalizer in enumerate(finalizers or []):
            yield from validate_kubernetes_finalizer(finalizer, path / index)


def validate_kubernetes_finalizer(finalizer: str, path: FieldPath) -> Iterator[FieldError]:
    """Validates that a finalizer on a built-in kind has a domain or is one of Kubernetes' own."""
    if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
        yield invalid(path, finalizer, "name is neither a standard finalizer name nor is it fully qualified")


def validate_namespace_finalizer(finalizer: str, path: FieldPath) -> Iterator[FieldError]:
    """Validates a finalizer in a Namespace's spec, which no other check covers."""
    yield from (invalid(path, finalizer, message) for message in names.validate_qualified_name(finalizer))
    yield from validate_kubernetes_finalizer(finalizer, path)


def _validate_names(meta: ObjectMeta, rule: names.NameRule) -> list[FieldError]:
    prefix, name = meta.get("generateName"), meta.get("name")
    errors = [invalid(_PATH / "generateName", prefix, message) for message in names.validate_prefix(rule, prefix)] if prefix else []
    if not name:
        return [*errors, required(_PATH / "name", "name or generateName is required")]
    messages = rule(name)
    return errors + [invalid(_PATH / "name", name, message) for message in messages] if messages else errors


def _validate_namespace(meta: ObjectMeta, *, is_namespaced: bool) -> list[FieldError]:
    namespace = meta.get("namespace") or ""
    if not is_namespaced:
        return [forbidden(_PATH / "namespace", "not allowed on this type")] if namespace else []
    if not namespace:
        return [required(_PATH / "namespace")]
    if len(namespace) <= names.MAX_CACHED_LENGTH and names.is_valid_dns_label(namespace):
        return []
    return [invalid(_PATH / "namespace", namespace, message) for message in names.validate_dns_label(namespace)]


def _validate_contents(meta: ObjectMeta, *, is_custom: bool) -> Iterator[FieldError]:
    if (meta.get("generation") or 0) < 0:
        yield invalid(_PATH / "generation", meta["generation"], "must be greater than or equal to 0")
    if labels := meta.get("labels"):
        yield from validate_labels(labels, _LABELS)
    if annotations := meta.get("annotations"):
        yield from validate_annotations(annotations, _PATH / "annotations")
    if references := meta.get("ownerReferences"):
        yield from validate_owner_references(references, _OWNER_REFERENCES)
    if finalizers := meta.get("finalizers"):
        yield from validate_finalizers(finalizers, _PATH / "finalizers", is_custom=is_custom)


def _validate_owner_reference(reference: ObjectMeta, path: FieldPath) -> Iterator[FieldError]:
    api_version = reference.get("apiVersion") or ""
    if not _has_version(api_version):
        yield invalid(path / "apiVersion", api_version, "version must not be empty")
    for field in ("kind", "name", "uid"):
        if not reference.get(field):
            yield invalid(path / field, "", "must not be empty")
    if (api_version, reference.get("kind")) == ("v1", "Event"):
        yield invalid(path, reference, "/v1, Kind=Event is disallowed from being an owner")


def _has_version(api_version: str) -> bool:
    parts = api_version.split("/")
    return len(parts) <= 2 and parts[-1] != ""


def _validate_added_finalizers(new: ObjectMeta, old: ObjectMeta, path: FieldPath) -> Iterator[FieldError]:
    if not old.get("deletionTimestamp"):
        return
    added = sorted(set(new.get("finalizers") or []) - set(old.get("finalizers") or []))
    if added:
        yield forbidden(path, f"no new finalizers can be added if the object is being deleted, found new finalizers {added}")


def _empty_as_none(value: Any) -> Any:
    return None if value == "" else value
