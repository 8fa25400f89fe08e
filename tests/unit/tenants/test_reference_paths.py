"""The table of references names every field of a built-in kind that can refer to what has another name in the physical view."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from probate.kinds.builtin import catalog
from probate.tenants.view import reference_paths

SUSPICIOUS = re.compile(
    r"(^namespaces?$|[nN]amespace$|[nN]amespaceSelector$|ClassName$|^volumeName$|^persistentVolumeName$|^apiGroups?$|^apiVersion$"
    r"|^subjects$|^roleRef$|^username$|^groups$|^policyName$|^paramKind$|^priorityLevelConfiguration$)"
)
"""Names of fields that refer to namespaces, cluster-scoped objects, API groups or users."""
SAME_IN_BOTH_VIEWS = {
    "fieldRef.apiVersion": "the version of the downward API",
    "fileKeyRef.volumeName": "a volume of the same pod",
    "scaleIO.volumeName": "a volume of the storage system",
    "storageos.volumeName": "a volume of the storage system",
    "storageos.volumeNamespace": "a namespace of the storage system",
    "configMap.namespace": "nodes are the platform's",
    "nodeInfo.runningInUserNamespace": "a boolean",
    "securityContext.supplementalGroups": "numbers",
    "shareProcessNamespace": "a boolean",
    "volumeClaimTemplates[].apiVersion": "always v1",
    "volumeClaimTemplates[].status.currentVolumeAttributesClassName": "a template has no status",
    "volumeClaimTemplates[].status.modifyVolumeStatus.targetVolumeAttributesClassName": "a template has no status",
    "spec.resource.group": "storage version migrations are the platform's",
}
"""Suspicious fields that are not references to what tenants own, by the end of their path, with the reason."""


def fields(node: dict[str, Any], path: str, seen: frozenset[str]) -> Iterator[str]:
    name = node.get("$ref", "").rpartition("/")[2]
    if name:
        if name not in seen:
            yield from fields(catalog.definitions()[name], path, seen | {name})
        return
    for field, schema in (node.get("properties") or {}).items():
        below = f"{path}.{field}" if path else field
        if SUSPICIOUS.search(field):
            yield below
        if field != "metadata":
            yield from fields(schema, below, seen)
    if "items" in node:
        yield from fields(node["items"], f"{path}[]", seen)


RESOURCES = sorted(
    {one.group_resource: one for one in catalog.load() if "get" in one.verbs and one.storage_gvk is None}.values(),
    key=lambda one: str(one.group_resource),
)


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda one: str(one.group_resource))
def test_every_reference_of_a_kind_is_in_the_table(resource: Any) -> None:
    rows = {path for path, _ in reference_paths.TABLE.get(str(resource.group_resource), ())}
    name = catalog.definition_name(resource.group, resource.version, resource.kind)
    assert name is not None
    found = set(fields(catalog.definitions()[name], "", frozenset({name}))) - {"apiVersion"}
    missing = {path for path in found if not is_covered(path, rows) and not path.endswith(tuple(SAME_IN_BOTH_VIEWS))}
    assert missing == set()


def is_covered(path: str, rows: set[str]) -> bool:
    return any(path in {row, row.removesuffix("[]")} or row.startswith(f"{path}.") or path.startswith(f"{row}.") for row in rows)


def test_every_row_names_a_field_that_exists() -> None:
    for resource in RESOURCES:
        for path, _ in reference_paths.TABLE.get(str(resource.group_resource), ()):
            name = catalog.definition_name(resource.group, resource.version, resource.kind)
            assert name is not None
            assert exists(catalog.definitions()[name], path.replace("[]", ".[]").split(".")), f"{resource.group_resource}: {path}"
    assert set(reference_paths.TABLE) <= {str(resource.group_resource) for resource in RESOURCES}


def exists(node: dict[str, Any], steps: list[str]) -> bool:
    while "$ref" in node:
        node = catalog.definitions()[node["$ref"].rpartition("/")[2]]
    if not steps:
        return True
    below = node.get("items") if steps[0] == "[]" else (node.get("properties") or {}).get(steps[0])
    return below is not None and exists(below, steps[1:])
