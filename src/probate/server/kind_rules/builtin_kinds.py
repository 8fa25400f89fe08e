"""Kinds that Kubernetes itself has."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence

from probate.api import metadata, names, quantities
from probate.api.apply import ownable_part as owning
from probate.api.apply.ownable_part import Part
from probate.api.apply.schema_shapes import Shape
from probate.api.catalog import Resource
from probate.api.field_errors import Problem, first
from probate.api.printing import columns
from probate.api.schema import exact_match, typed
from probate.api.schema.node import Schema
from probate.api.selectors import selectable_fields
from probate.api.selectors.selectable_fields import SelectableField
from probate.kinds import defaults as defaulting
from probate.kinds import omitempty, tables, validation, warnings
from probate.kinds import strategy as preparation
from probate.kinds.certificates import validation as certificate_validation
from probate.kinds.core import cluster_status_validation as statuses
from probate.kinds.core.pods import container_limit
from probate.kinds.core.pods.validation import resize
from probate.kinds.core.pods.validation import update as pods
from probate.server import api_errors
from probate.server.kind_rules import object_parts
from probate.server.kind_rules.contract import Object, Typed

_PARTS: Mapping[tuple[str, str], Callable[[], Callable[[Object, Object], Iterable[Problem]]]] = {
    ("CertificateSigningRequest", "approval"): lambda: certificate_validation.check_approval,
    ("Namespace", "finalize"): lambda: statuses.check_finalize,
    ("Pod", "ephemeralcontainers"): lambda: pods.check_ephemeral_containers,
    ("Pod", "resize"): lambda: resize.check_resize,
}
"""Parts other than the status with checks of their own, which are loaded late."""

WARNED_OF = frozenset(
    {
        ("", "Endpoints"),
        ("", "Node"),
        ("", "PersistentVolume"),
        ("", "PersistentVolumeClaim"),
        ("", "Pod"),
        ("", "PodTemplate"),
        ("", "ReplicationController"),
        ("", "Secret"),
        ("", "Service"),
        ("", "ServiceAccount"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("apps", "DaemonSet"),
        ("apps", "Deployment"),
        ("apps", "ReplicaSet"),
        ("apps", "StatefulSet"),
        ("batch", "CronJob"),
        ("batch", "Job"),
        ("discovery.k8s.io", "EndpointSlice"),
        ("networking.k8s.io", "Ingress"),
        ("networking.k8s.io", "NetworkPolicy"),
        ("node.k8s.io", "RuntimeClass"),
        ("storage.k8s.io", "CSIStorageCapacity"),
        ("storage.k8s.io", "StorageClass"),
    }
)
"""Kinds that `warnings` knows something about: for the others it is not even loaded."""


class BuiltIn:
    """The rules of a built-in resource. Checks may depend on the version that is served; all else is as for the stored one."""

    def __init__(self, resource: Resource) -> None:
        self._resource = resource
        self._served = resource.group_version_kind
        self._kind = resource.stored_as or self._served
        self._name_rule = names.rule_of(resource.group, resource.kind)
        self._is_prepared = preparation.concerns_new(self._kind.group, self._kind.kind)
        self._group_kind = self._kind.group, self._kind.kind
        self._is_warned_of = self._group_kind in WARNED_OF
        self._has_pods = container_limit.has_pods(*self._group_kind)

    @functools.cached_property
    def _schema(self) -> Schema:
        return self._resource.load_schema()

    def fits(self, value: Object) -> bool:
        is_over_limit = self._has_pods and bool(container_limit.problems(*self._group_kind, value))  # then `read` refuses it
        return not is_over_limit and exact_match.fits(value, self._schema)

    def read(self, value: Object) -> Typed:
        if self._has_pods:
            self._check_containers(value)
        reader = typed.Reader(_quantity)
        object_ = reader.read(value, self._schema)
        return Typed(object_, reader.unknown)

    def _check_containers(self, value: Object) -> None:
        if found := container_limit.problems(*self._group_kind, value):
            meta = value.get("metadata")
            name = meta.get("name") if isinstance(meta, dict) else None
            raise api_errors.invalid(self._resource, name if isinstance(name, str) else "", found)

    def set_defaults(self, object_: Object) -> None:
        defaulting.apply(*self._kind, object_)

    def prepare_new(self, object_: Object, *, uid: str, now: str) -> None:
        if self._is_prepared:
            preparation.create(*self._kind, object_, uid=uid, now=now)

    def problems_of_new(self, object_: Object) -> list[Problem]:
        is_namespaced = self._resource.is_namespaced
        found = metadata.validate_create(object_["metadata"], is_namespaced=is_namespaced, name_rule=self._name_rule)
        return found + validation.create(*self._served, object_)

    def prepare_changed(self, new: Object, old: Object, subresource: str, *, now: str) -> None:
        defaulting.apply(*self._kind, new)
        if subresource in object_parts.PARTS:
            new |= object_parts.limited(subresource, new, old, now=now)
        elif subresource == "status":
            preparation.update_status(*self._kind, new, old, now=now)
        else:
            preparation.update(*self._kind, new, old)

    def problems_of_changed(self, new: Object, old: Object, subresource: str) -> list[Problem]:
        found = metadata.validate_update(new["metadata"], old["metadata"])
        if not subresource:
            return found + validation.update(*self._served, new, old)
        if subresource == "status":
            return found + validation.status(*self._served, new, old)
        check = _PARTS.get((self._resource.kind, subresource))
        return found + first(check()(new, old)) if check else found

    def warnings_of_new(self, object_: Object) -> Sequence[str]:
        return warnings.create(self._kind.group, self._kind.kind, object_) if self._is_warned_of else ()

    def warnings_of_changed(self, new: Object, old: Object, subresource: str) -> Sequence[str]:
        if subresource or not self._is_warned_of:
            return ()
        return warnings.update(self._kind.group, self._kind.kind, new, old)

    def problems_of_applied(self, object_: Object) -> list[Problem]:
        return []

    @functools.cached_property
    def _shape(self) -> Shape:
        return Shape(self._schema)

    def shape(self) -> Shape:
        return self._shape

    @functools.cached_property
    def _blank(self) -> Object:
        made: Object = {"metadata": {}}
        omitempty.write(made, self._schema)
        return made

    def blank(self) -> Object:
        return self._blank

    def part(self, subresource: str) -> Part:
        if subresource in object_parts.PARTS:
            return object_parts.part(subresource)
        if subresource == "status":
            kept = preparation.kept_from_status(self._resource.group, self._resource.kind)
            return Part(only=frozenset({"metadata", "status"}), not_in_metadata=frozenset(kept))
        return owning.WITHOUT_STATUS if preparation.has_status(self._resource.group, self._resource.kind) else owning.WHOLE

    def printer(self) -> columns.Printer:
        return tables.printer(self._resource.group, self._resource.version, self._resource.plural)

    def fields(self) -> Mapping[str, SelectableField]:
        return selectable_fields.supported_fields(self._resource.group_resource)


def _quantity(value: str | float) -> str | None:
    """The one spelling of a quantity; None if it is none."""
    return quantities.canonical(value) if quantities.is_quantity(value) else None
