"""What may stand in an object's `metadata`, on create and on update. Every kind's objects pass through here, custom ones too.

Kinds differ in three ways only: the rule for their names, whether they live in a namespace, and, for built-in ones, that a
finalizer must be qualified or one of Kubernetes' own. On update the server first puts back what a client may leave out (uid,
creationTimestamp, deletionTimestamp, and the resourceVersion where `allows_unconditional_update`); what differs then was sent so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from probate.api import names
from probate.api.deletion import COLLECTORS, FOREGROUND, FOREGROUNDS, ORPHAN
from probate.api.field_errors import Path, Problem, first, forbidden, invalid, required, too_long

Meta = dict[str, Any]

MAX_ANNOTATIONS_BYTES = 256 * 1024

_STANDARD_FINALIZERS = COLLECTORS | {"kubernetes"}
_PATH = Path("metadata")
_LABELS, _OWNERS = _PATH / "labels", _PATH / "ownerReferences"
_IMMUTABLE = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_CONDITIONAL = frozenset(
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
    """Whether a PUT of a built-in kind creates an object that is not there. (Of a custom kind it never does.)"""
    return (group, kind) in _CREATED_BY_UPDATE


def allows_unconditional_update(group: str, kind: str) -> bool:
    """Whether a built-in kind takes a PUT without a resourceVersion. (Custom resources never do.)"""
    return group != "admissionregistration.k8s.io" and (group, kind) not in _CONDITIONAL


def validate_create(meta: Meta, *, is_namespaced: bool, name_rule: names.Rule, is_custom: bool = False) -> list[Problem]:
    """What is wrong with the metadata of an object that is to be created, its name already generated."""
    found = _check_names(meta, name_rule) + _check_namespace(meta, is_namespaced=is_namespaced)
    return found + first(_check_contents(meta, is_custom=is_custom))


def validate_update(new: Meta, old: Meta, *, is_custom: bool = False) -> list[Problem]:
    """What is wrong with the metadata of an object that is to replace `old`."""
    path = _PATH
    found = [*_check_additions(new, old, path / "finalizers"), *first(_check_contents(new, is_custom=is_custom))]
    if not new.get("resourceVersion"):
        found.append(invalid(path / "resourceVersion", "", "must be specified for an update"))
    if (new.get("generation") or 0) < (old.get("generation") or 0):
        found.append(invalid(path / "generation", new.get("generation"), "must not be decremented"))
    changed = [field for field in _IMMUTABLE if _plain(new.get(field)) != _plain(old.get(field))]
    return [*found, *(invalid(path / field, new.get(field), "field is immutable") for field in changed)]


def check_labels(labels: dict[str, str] | None, path: Path) -> Iterator[Problem]:
    """Keys are qualified names, values label values. All problems are reported of the map, not of the key."""
    for key, value in (labels or {}).items():
        if len(key) <= names.MAX_KNOWN_LENGTH >= len(value or "") and names.is_label(key, value or ""):
            continue
        for problem in names.qualified_name(key):
            yield invalid(path, key, problem)
        for problem in names.label_value(value or ""):
            yield invalid(path, value, problem)


def check_annotations(annotations: dict[str, str] | None, path: Path) -> Iterator[Problem]:
    """Keys are qualified names in either case, and all together must not be too big."""
    size = 0
    for key, value in (annotations or {}).items():
        yield from (invalid(path, key, problem) for problem in names.qualified_name(key.lower()))
        size += len(key.encode(errors="replace")) + len((value or "").encode(errors="replace"))
    if size > MAX_ANNOTATIONS_BYTES:
        yield too_long(path, MAX_ANNOTATIONS_BYTES)


def check_owner_references(references: list[Meta] | None, path: Path) -> Iterator[Problem]:
    """Each reference is complete and names no Event; one controller at most. Reported of the list, as Kubernetes does."""
    for reference in references or []:
        yield from _check_owner_reference(reference, path)
    controllers = [reference.get("name") or "" for reference in references or [] if reference.get("controller")]
    if len(controllers) > 1:
        detail = f"Only one reference can have Controller set to true. Found {', '.join(controllers)}"
        yield invalid(path, references, detail)


def check_finalizers(finalizers: list[str] | None, path: Path, *, is_custom: bool = False) -> Iterator[Problem]:
    """Each is a qualified name, and none contradicts another."""
    for finalizer in finalizers or []:
        yield from (invalid(path, finalizer, problem) for problem in names.qualified_name(finalizer))
    if ORPHAN in (given := set(finalizers or [])) and given & FOREGROUNDS:
        yield invalid(path, finalizers, f"finalizers {ORPHAN} and {FOREGROUND} cannot both be set")
    if not is_custom:
        for index, finalizer in enumerate(finalizers or []):
            yield from check_kubernetes_finalizer(finalizer, path / index)


def check_kubernetes_finalizer(finalizer: str, path: Path) -> Iterator[Problem]:
    """A finalizer on a built-in kind has a domain, or is one of Kubernetes' own."""
    if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
        yield invalid(path, finalizer, "name is neither a standard finalizer name nor is it fully qualified")


def check_namespace_finalizer(finalizer: str, path: Path) -> Iterator[Problem]:
    """A finalizer in a Namespace's spec, which has no other place where its name is looked at."""
    yield from (invalid(path, finalizer, problem) for problem in names.qualified_name(finalizer))
    yield from check_kubernetes_finalizer(finalizer, path)


def _check_names(meta: Meta, rule: names.Rule) -> list[Problem]:
    prefix, name = meta.get("generateName"), meta.get("name")
    found = [invalid(_PATH / "generateName", prefix, problem) for problem in names.check_prefix(rule, prefix)] if prefix else []
    if not name:
        return [*found, required(_PATH / "name", "name or generateName is required")]
    wrong = rule(name)
    return found + [invalid(_PATH / "name", name, problem) for problem in wrong] if wrong else found


def _check_namespace(meta: Meta, *, is_namespaced: bool) -> list[Problem]:
    namespace = meta.get("namespace") or ""
    if not is_namespaced:
        return [forbidden(_PATH / "namespace", "not allowed on this type")] if namespace else []
    if not namespace:
        return [required(_PATH / "namespace")]
    if len(namespace) <= names.MAX_KNOWN_LENGTH and names.is_dns_label(namespace):
        return []
    return [invalid(_PATH / "namespace", namespace, problem) for problem in names.dns_label(namespace)]


def _check_contents(meta: Meta, *, is_custom: bool) -> Iterator[Problem]:
    if (meta.get("generation") or 0) < 0:
        yield invalid(_PATH / "generation", meta["generation"], "must be greater than or equal to 0")
    if labels := meta.get("labels"):
        yield from check_labels(labels, _LABELS)
    if annotations := meta.get("annotations"):
        yield from check_annotations(annotations, _PATH / "annotations")
    if references := meta.get("ownerReferences"):
        yield from check_owner_references(references, _OWNERS)
    if finalizers := meta.get("finalizers"):
        yield from check_finalizers(finalizers, _PATH / "finalizers", is_custom=is_custom)


def _check_owner_reference(reference: Meta, path: Path) -> Iterator[Problem]:
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


def _check_additions(new: Meta, old: Meta, path: Path) -> Iterator[Problem]:
    if not old.get("deletionTimestamp"):
        return
    added = sorted(set(new.get("finalizers") or []) - set(old.get("finalizers") or []))
    if added:
        yield forbidden(path, f"no new finalizers can be added if the object is being deleted, found new finalizers {added}")


def _plain(value: Any) -> Any:
    return None if value == "" else value
