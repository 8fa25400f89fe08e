"""The roles and bindings that every server has, and how it reconciles those that users have changed.

`bootstrap_roles.txt` lists them. At startup the server adds what is missing: whole objects, and rules and subjects that existing
objects lack. What users have added stays. The annotation `rbac.authorization.kubernetes.io/autoupdate: "false"` on an object
turns this off for the object.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from probate.api.objects import Object
from probate.api.rbac import aggregation, escalation, policy_rules
from probate.api.rbac.rule_resolver import BINDINGS, CLUSTER_BINDINGS, CLUSTER_ROLES, GROUP, ROLES
from probate.core import package_data

AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate"
_LABELS = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_FILE = "bootstrap_roles.txt"
_KINDS = {ROLES: "Role", CLUSTER_ROLES: "ClusterRole", BINDINGS: "RoleBinding", CLUSTER_BINDINGS: "ClusterRoleBinding"}


class BootstrapObject(NamedTuple):
    """A role or binding that must exist, and its resource."""

    resource: str
    object: Object


@cache
def bootstrap_objects() -> tuple[BootstrapObject, ...]:
    """Returns all bootstrap objects, roles first. Cached and shared: do not modify them."""
    objects: list[BootstrapObject] = []
    for line in package_data.read_text(__file__, _FILE).splitlines():
        directive, _, rest = line.strip().partition(" ")
        if not line or directive == "#":
            continue
        if line.startswith(" "):
            objects[-1].object["rules"].append(_rule(line))
        elif directive == "bind":
            objects.append(_binding(rest))
        else:
            objects.append(_aggregated_role(rest) if directive == "aggregate" else _role(rest))
    _aggregate([seed.object for seed in objects if seed.resource == CLUSTER_ROLES])
    return tuple(objects)


def _aggregate(roles: list[Object]) -> None:
    """Computes the rules of aggregated roles, repeatedly, since an aggregated role may be part of another one."""
    while changed := [(role, new) for role in roles if aggregation.is_aggregated(role) and (new := _changed_rules(role, roles))]:
        for role, new in changed:
            role["rules"] = new


def _changed_rules(role: Object, roles: list[Object]) -> list[Any]:
    new = aggregation.aggregated_rules(role, roles)
    return new if new != role["rules"] else []


def _rule(line: str) -> Object:
    verbs, _, targets = (part.strip() for part in line.partition(" : "))
    groups, is_resource, rest = targets.partition(" : ")
    if not is_resource:
        return {"verbs": verbs.split(), "nonResourceURLs": targets.split()}
    resources, _, names = rest.partition(" = ")
    groups_and_core = ["" if group == "core" else group for group in groups.split(",")]
    named = {"resourceNames": names.split()} if names else {}
    return {"verbs": verbs.split(), "apiGroups": groups_and_core, "resources": resources.split(), **named}


def _role(text: str) -> BootstrapObject:
    key, *labels = text.split()
    resource = ROLES if "/" in key else CLUSTER_ROLES
    return _bootstrap_object(resource, key, {"rules": []}, labels=labels)


def _aggregated_role(text: str) -> BootstrapObject:
    key, _, rest = text.partition(" = ")
    source_label, *labels = rest.split()
    selector = {"matchLabels": {f"{GROUP}/{source_label}": "true"}}
    return _bootstrap_object(
        CLUSTER_ROLES, key, {"aggregationRule": {"clusterRoleSelectors": [selector]}, "rules": []}, labels=labels
    )


def _binding(text: str) -> BootstrapObject:
    header, _, subject_list = text.partition(" :")
    key, _, role = header.partition(" to ")
    _, slash, name = key.rpartition("/")
    reference = {"apiGroup": GROUP, "kind": "Role" if slash else "ClusterRole", "name": role or name}
    content: Object = {"roleRef": reference}
    if subjects := list(_subjects(subject_list)):
        content["subjects"] = subjects
    return _bootstrap_object(BINDINGS if slash else CLUSTER_BINDINGS, key, content, labels=[])


def _subjects(subject_list: str) -> Iterator[Object]:
    for entry in subject_list.split():
        kind, equals, name = entry.partition("=")
        if equals:
            yield {"apiGroup": GROUP, "kind": kind.capitalize(), "name": name}
        else:
            namespace, _, account = entry.partition("/")
            yield {"kind": "ServiceAccount", "name": account, "namespace": namespace}


def _bootstrap_object(resource: str, key: str, content: Object, *, labels: list[str]) -> BootstrapObject:
    namespace, _, name = key.rpartition("/")
    meta: Object = {"name": name, **({"namespace": namespace} if namespace else {})}
    meta["labels"] = {**_LABELS, **{f"{GROUP}/{label}": "true" for label in labels}}
    meta["annotations"] = {AUTO_UPDATE: "true"}
    return BootstrapObject(resource, {"apiVersion": f"{GROUP}/v1", "kind": _KINDS[resource], "metadata": meta, **content})


def is_protected(existing: Object) -> bool:
    """Returns whether the object's annotation turns reconciliation off."""
    return (existing["metadata"].get("annotations") or {}).get(AUTO_UPDATE) == "false"


def reconcile(desired: BootstrapObject, existing: Object) -> Object | None:
    """Returns the existing object with its missing parts added; None if nothing is missing or the object is protected."""
    if is_protected(existing):
        return None
    meta = existing["metadata"]
    new = {
        **existing,
        "metadata": {
            **meta,
            **_merged_field("labels", desired.object, existing),
            **_merged_field("annotations", desired.object, existing),
        },
    }
    if desired.resource in {BINDINGS, CLUSTER_BINDINGS}:
        subjects = existing.get("subjects") or []
        missing = [subject for subject in desired.object.get("subjects") or () if subject not in subjects]
        new |= {"subjects": [*subjects, *missing]} if missing else {}
    elif "aggregationRule" not in desired.object:
        missing = escalation.uncovered_rules(policy_rules.rules_of_role(existing), policy_rules.rules_of_role(desired.object))
        new |= {"rules": [*(existing.get("rules") or []), *map(policy_rules.rule_to_object, missing)]} if missing else {}
    elif "aggregationRule" not in existing:
        new["aggregationRule"] = desired.object["aggregationRule"]
    return None if new == existing else new


def _merged_field(field: str, desired: Object, existing: Object) -> Object:
    """Returns the labels or annotations of the bootstrap object and of the existing one, which takes precedence."""
    merged = {**desired["metadata"][field], **(existing["metadata"].get(field) or {})}
    return {field: merged}
