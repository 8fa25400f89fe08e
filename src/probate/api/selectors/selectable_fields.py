"""Which fields of which resources a field selector may ask for, and where their values are.

Every resource has `metadata.name` and `metadata.namespace`. Kubernetes adds the few below to built-in resources, with the values
as text: a number or a truth value that is not set is its zero, `0` or `false`, and any other field the empty text. Custom
resources add those that their definition lists.

    supported_fields(GroupResource("", "pods"))["spec.hostNetwork"].read({"spec": {}})       "false"
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from probate.api.gvk import GroupResource


class SelectableField(NamedTuple):
    """Where a field's value is: at the first of these paths that has one."""

    paths: tuple[tuple[str, ...], ...]
    zero: str = ""

    def read(self, document: Mapping[str, Any]) -> str:
        """The field's value as text."""
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


def field(*paths: str, zero: str = "") -> SelectableField:
    """A field that is at the first of these dotted paths."""
    return SelectableField(tuple(tuple(path.split(".")) for path in paths), zero)


def _same(*labels: str) -> dict[str, SelectableField]:
    return {label: field(label) for label in labels}


def supported_fields(resource: GroupResource) -> Mapping[str, SelectableField]:
    """What a field selector may ask of a built-in resource."""
    return METADATA | BUILT_IN.get(resource, {})


def custom_fields(json_paths: Iterable[str]) -> Mapping[str, SelectableField]:
    """What it may ask of a custom one, from the `jsonPath` of each of its selectableFields: `.spec.color` is `spec.color`."""
    return METADATA | _same(*(path.removeprefix(".") for path in json_paths))


METADATA = _same("metadata.name", "metadata.namespace")

# Selectors are asked of what is stored. An event is stored as the core one also if it is served, and asked for, by its other names.
_OBJECT_FIELDS = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_REGARDING = {name: field(f"involvedObject.{name}") for name in _OBJECT_FIELDS}
_REPORTER = field("reportingComponent")
_SOURCE = field("source.component", "reportingComponent")

BUILT_IN: dict[GroupResource, dict[str, SelectableField]] = {
    GroupResource("", "events"): {f"involvedObject.{name}": one for name, one in _REGARDING.items()}
    | {"reportingComponent": _REPORTER, "source": _SOURCE}
    | _same("reason", "type"),
    GroupResource("events.k8s.io", "events"): {f"regarding.{name}": one for name, one in _REGARDING.items()}
    | {"reportingController": _REPORTER}
    | _same("reason", "type"),
    GroupResource("", "namespaces"): _same("status.phase"),
    GroupResource("", "nodes"): {"spec.unschedulable": field("spec.unschedulable", zero="false")},
    GroupResource("", "pods"): {
        "spec.host": field("spec.nodeName"),  # what it was called at first
        "spec.hostNetwork": field("spec.hostNetwork", zero="false"),
        "status.podIPs": SelectableField(()),  # Kubernetes takes it, and finds nothing there
    }
    | _same("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName")
    | _same("status.phase", "status.podIP", "status.nominatedNodeName"),
    GroupResource("", "replicationcontrollers"): {"status.replicas": field("status.replicas", zero="0")},
    GroupResource("", "secrets"): _same("type"),
    GroupResource("", "services"): _same("spec.clusterIP", "spec.type"),
    GroupResource("apps", "replicasets"): {"status.replicas": field("status.replicas", zero="0")},
    GroupResource("batch", "jobs"): {"status.successful": field("status.succeeded", zero="0")},
    GroupResource("certificates.k8s.io", "certificatesigningrequests"): _same("spec.signerName"),
    GroupResource("certificates.k8s.io", "clustertrustbundles"): _same("spec.signerName"),
    GroupResource("resource.k8s.io", "resourceslices"): _same("spec.driver", "spec.nodeName"),
}
