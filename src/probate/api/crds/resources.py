"""The resources that a definition brings: one for each version it serves.

Only what is established is served, under the names that were accepted. The preferred version comes first: v2, v1, v1beta2,
v1beta1, v1alpha1, then whatever else by its name.
"""

from __future__ import annotations

import re
import sys
from functools import cache, partial
from typing import Any, NamedTuple

from probate.api.catalog import Resource, Subresource
from probate.api.crds import crd_conditions
from probate.api.crds.layout import Definition, has_status, schema_of, spec_of, versions_of
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
    """Where a custom resource keeps what its scale shows. The label selector's path may be empty."""

    spec_replicas: str
    status_replicas: str
    label_selector: str


def resources(crd: Definition) -> list[Resource]:
    """All versions that are served, the preferred one first. None before the definition is established."""
    if not crd_conditions.is_true(crd, crd_conditions.ESTABLISHED):
        return []
    served = [one for one in versions_of(crd) if one.get("served")]
    return [_resource(crd, one) for one in sorted(served, key=lambda one: version_order(one["name"]))]


def version_order(name: str) -> tuple[Any, ...]:
    """A key that sorts versions with the preferred one first."""
    found = _VERSION.fullmatch(name)
    if found is None:
        return (1, name)
    return (0, -_STAGES[found[2]], -int(found[1]), -int(found[3] or 0))


def version_of(crd: Definition, name: str) -> dict[str, Any]:
    """The version as written in the definition; empty if there is none of this name."""
    return next((one for one in versions_of(crd) if one.get("name") == name), {})


def scale_paths(crd: Definition, version: str) -> ScalePaths | None:
    """Where the version's objects keep their scale; none if they have none."""
    scale = (version_of(crd, version).get("subresources") or {}).get("scale")
    if scale is None:
        return None
    return ScalePaths(scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath") or "")


def printer_columns(crd: Definition, version: str) -> list[dict[str, Any]]:
    """The columns a table of the version's objects has after the name: those written, or else the age."""
    age = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
    return version_of(crd, version).get("additionalPrinterColumns") or [age]


def selectable_fields(crd: Definition, version: str) -> list[str]:
    """The fields that a field selector may name, besides the name and namespace: "spec.color"."""
    return [one["jsonPath"].removeprefix(".") for one in version_of(crd, version).get("selectableFields") or []]


def deprecation_warning(crd: Definition, version: str) -> str:
    """What every answer about the version's objects warns of; nothing if it is not deprecated."""
    written = version_of(crd, version)
    if not written.get("deprecated"):
        return ""
    default = f"{spec_of(crd).get('group')}/{version} {accepted_names(crd).get('kind')} is deprecated"
    return written.get("deprecationWarning") or default


def _resource(crd: Definition, version: dict[str, Any]) -> Resource:
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
        storage_version=next((one["name"] for one in versions_of(crd) if one.get("storage")), ""),
        load_schema=cache(partial(_load_schema, version)),
        defaults_before=cache(partial(_defaults_before, crd, version)),
        deprecation=deprecation_warning(crd, version["name"]),
    )


def _verbs(crd: Definition) -> tuple[str, ...]:
    """What may be done. While the definition is being deleted no object may come; changes must go on, or no finalizer could go."""
    return TERMINATING_VERBS if crd_conditions.is_true(crd, crd_conditions.TERMINATING) else VERBS


def _subresources(group: str, version: dict[str, Any], kind: str) -> tuple[Subresource, ...]:
    found = []
    if has_status(version):
        found.append(Subresource("status", kind, SUBRESOURCE_VERBS, group, version["name"]))
    if (version.get("subresources") or {}).get("scale") is not None:
        found.append(Subresource("scale", "Scale", SUBRESOURCE_VERBS, "autoscaling", "v1"))
    return tuple(found)


def _load_schema(version: dict[str, Any]) -> Schema:
    return parse_root(schema_of(version))


def _defaults_before(crd: Definition, version: dict[str, Any]) -> int:
    """Before which revision objects may have been written by a schema with other defaults: an older one, or another version's."""
    if not has_defaults(_load_schema(version)):
        return 0
    is_only = sum(1 for one in spec_of(crd)["versions"] if one.get("served")) == 1
    return int(crd["metadata"].get("resourceVersion") or 0) if is_only else sys.maxsize
