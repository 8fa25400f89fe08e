"""The resources that a CRD serves: one for each served version.

Only an established CRD is served, under its accepted names. The preferred version comes first: v2, v1, v1beta2, v1beta1,
v1alpha1, then any others by name.
"""

from __future__ import annotations

import re
import sys
from functools import cache, partial
from typing import Any, NamedTuple

from probate.api.catalog import Resource, Subresource
from probate.api.crds import crd_conditions
from probate.api.crds.layout import Crd, has_status_subresource, schema_of, spec_of, versions_of
from probate.api.crds.name_acceptance import accepted_names
from probate.api.schema.node import Schema
from probate.api.structural.defaults import has_defaults
from probate.api.structural.parse import parse_root

VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
SUBRESOURCE_VERBS = ("get", "patch", "update")
TERMINATING_VERBS = tuple(verb for verb in VERBS if verb != "create")

_VERSION = re.compile(r"v([1-9][0-9]{0,9})(?:(alpha|beta)([1-9][0-9]{0,9}))?")
_STAGES = {None: 2, "beta": 1, "alpha": 0}


class ScalePaths(NamedTuple):
    """The paths of a custom resource's scale. The label selector's path may be empty."""

    spec_replicas: str
    status_replicas: str
    label_selector: str


def served_resources(crd: Crd) -> list[Resource]:
    """Returns all served versions, the preferred one first. Returns none before the CRD is established."""
    if not crd_conditions.is_condition_true(crd, crd_conditions.ESTABLISHED):
        return []
    served = [version for version in versions_of(crd) if version.get("served")]
    return [_resource(crd, version) for version in sorted(served, key=lambda version: version_sort_key(version["name"]))]


def version_sort_key(name: str) -> tuple[Any, ...]:
    """Returns a key that sorts versions with the preferred one first."""
    match = _VERSION.fullmatch(name)
    if match is None:
        return (1, name)
    return (0, -_STAGES[match[2]], -int(match[1]), -int(match[3] or 0))


def find_version(crd: Crd, name: str) -> dict[str, Any]:
    """Returns the version in the CRD's spec; empty if there is none with this name."""
    return next((version for version in versions_of(crd) if version.get("name") == name), {})


def scale_paths(crd: Crd, version: str) -> ScalePaths | None:
    """Returns the paths of the version's scale subresource, or None."""
    scale = (find_version(crd, version).get("subresources") or {}).get("scale")
    if scale is None:
        return None
    return ScalePaths(scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath") or "")


def printer_columns(crd: Crd, version: str) -> list[dict[str, Any]]:
    """Returns the printer columns after the name: the version's own, or else the age."""
    age = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
    return find_version(crd, version).get("additionalPrinterColumns") or [age]


def selectable_fields(crd: Crd, version: str) -> list[str]:
    """Returns the fields that a field selector may use, besides name and namespace: "spec.color"."""
    return [field["jsonPath"].removeprefix(".") for field in find_version(crd, version).get("selectableFields") or []]


def deprecation_warning(crd: Crd, version: str) -> str:
    """Returns the warning in every response about the version's objects; empty if the version is not deprecated."""
    spec_version = find_version(crd, version)
    if not spec_version.get("deprecated"):
        return ""
    default = f"{spec_of(crd).get('group')}/{version} {accepted_names(crd).get('kind')} is deprecated"
    return spec_version.get("deprecationWarning") or default


def _resource(crd: Crd, version: dict[str, Any]) -> Resource:
    spec, names = spec_of(crd), accepted_names(crd)
    return Resource(
        group=spec["group"],
        version=version["name"],
        plural=names["plural"],
        kind=names["kind"],
        singular=names.get("singular") or "",
        is_namespaced=spec.get("scope") == "Namespaced",
        verbs=_verbs(crd),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=_subresources(spec["group"], version, names["kind"]),
        is_custom=True,
        is_converted=(spec.get("conversion") or {}).get("strategy") == "Webhook",
        storage_version=next((version_spec["name"] for version_spec in versions_of(crd) if version_spec.get("storage")), ""),
        load_schema=cache(partial(_load_schema, version)),
        defaults_before=cache(partial(_defaults_before, crd, version)),
        deprecation_warning=deprecation_warning(crd, version["name"]),
    )


def _verbs(crd: Crd) -> tuple[str, ...]:
    """Returns the verbs of the resource.

    While the CRD is being deleted, no object can be created; updates must work, or no finalizer could be removed.
    """
    return TERMINATING_VERBS if crd_conditions.is_condition_true(crd, crd_conditions.TERMINATING) else VERBS


def _subresources(group: str, version: dict[str, Any], kind: str) -> tuple[Subresource, ...]:
    subresources = []
    if has_status_subresource(version):
        subresources.append(Subresource("status", kind, SUBRESOURCE_VERBS, group, version["name"]))
    if (version.get("subresources") or {}).get("scale") is not None:
        subresources.append(Subresource("scale", "Scale", SUBRESOURCE_VERBS, "autoscaling", "v1"))
    return tuple(subresources)


def _load_schema(version: dict[str, Any]) -> Schema:
    return parse_root(schema_of(version))


def _defaults_before(crd: Crd, version: dict[str, Any]) -> int:
    """Returns the revision before which objects may have other defaults: those of an old schema or of another version."""
    if not has_defaults(_load_schema(version)):
        return 0
    is_only = sum(1 for spec_version in spec_of(crd)["versions"] if spec_version.get("served")) == 1
    return int(crd["metadata"].get("resourceVersion") or 0) if is_only else sys.maxsize
