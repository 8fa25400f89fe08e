"""The fields that field selectors support for each resource, and the paths of their values.

Every resource has `metadata.name` and `metadata.namespace`. Kubernetes adds the few below to built-in resources, with the values
as text: an unset number or boolean has its zero value, `0` or `false`, and any other unset field is the empty string. Custom
resources add those that their CRD lists.

    supported_fields(GroupResource("", "pods"))["spec.hostNetwork"].read({"spec": {}})       "false"
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from probate.api.gvk import GroupResource


class SelectableField(NamedTuple):
    """The paths of a field's value: the first path with a value is used."""

    paths: tuple[tuple[str, ...], ...]
    zero: str = ""

    def read(self, document: Mapping[str, Any]) -> str:
        """Returns the field's value as text."""
        for path in self.paths:
            value: Any = document
            for name in path:
                value = value.get(name) if isinstance(value, dict) else None
            if text := _as_text(value):
                return text
        return self.zero


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (str, int, float)) else ""


def selectable_field(*paths: str, zero: str = "") -> SelectableField:
    """Returns a field with these dotted paths."""
    return SelectableField(tuple(tuple(path.split(".")) for path in paths), zero)


def _fields_by_path(*labels: str) -> dict[str, SelectableField]:
    return {label: selectable_field(label) for label in labels}


def supported_fields(resource: GroupResource) -> Mapping[str, SelectableField]:
    """Returns the fields that a field selector can use for a built-in resource."""
    return METADATA_FIELDS | BUILT_IN_FIELDS.get(resource, {})


def custom_fields(json_paths: Iterable[str]) -> Mapping[str, SelectableField]:
    """Returns the fields of a custom resource, from the `jsonPath` of its selectableFields: `.spec.color` is `spec.color`."""
    return METADATA_FIELDS | _fields_by_path(*(path.removeprefix(".") for path in json_paths))


METADATA_FIELDS = _fields_by_path("metadata.name", "metadata.namespace")

# Selectors match stored objects. An event is stored as the core kind, also if a request uses events.k8s.io and its field names.
_OBJECT_FIELDS = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_REGARDING = {name: selectable_field(f"involvedObject.{name}") for name in _OBJECT_FIELDS}
_REPORTER = selectable_field("reportingComponent")
_SOURCE = selectable_field("source.component", "reportingComponent")

BUILT_IN_FIELDS: dict[GroupResource, dict[str, SelectableField]] = {
    GroupResource("", "events"): {f"involvedObject.{name}": one for name, one in _REGARDING.items()}
    | {"reportingComponent": _REPORTER, "source": _SOURCE}
    | _fields_by_path("reason", "type"),
    GroupResource("events.k8s.io", "events"): {f"regarding.{name}": one for name, one in _REGARDING.items()}
    | {"reportingController": _REPORTER}
    | _fields_by_path("reason", "type"),
    GroupResource("", "namespaces"): _fields_by_path("status.phase"),
    GroupResource("", "nodes"): {"spec.unschedulable": selectable_field("spec.unschedulable", zero="false")},
    GroupResource("", "pods"): {
        "spec.host": selectable_field("spec.nodeName"),  # its old name
        "spec.hostNetwork": selectable_field("spec.hostNetwork", zero="false"),
        "status.podIPs": SelectableField(()),  # Kubernetes accepts it, and its value is always empty
    }
    | _fields_by_path("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName")
    | _fields_by_path("status.phase", "status.podIP", "status.nominatedNodeName"),
    GroupResource("", "replicationcontrollers"): {"status.replicas": selectable_field("status.replicas", zero="0")},
    GroupResource("", "secrets"): _fields_by_path("type"),
    GroupResource("", "services"): _fields_by_path("spec.clusterIP", "spec.type"),
    GroupResource("apps", "replicasets"): {"status.replicas": selectable_field("status.replicas", zero="0")},
    GroupResource("batch", "jobs"): {"status.successful": selectable_field("status.succeeded", zero="0")},
    GroupResource("certificates.k8s.io", "certificatesigningrequests"): _fields_by_path("spec.signerName"),
    GroupResource("certificates.k8s.io", "clustertrustbundles"): _fields_by_path("spec.signerName"),
    GroupResource("resource.k8s.io", "resourceslices"): _fields_by_path("spec.driver", "spec.nodeName"),
}
