"""Validates environment variables of containers, and references to pod fields, container resources, ConfigMaps and Secrets."""

from __future__ import annotations

import re
from collections.abc import Collection

from probate.api import names
from probate.api.field_errors import FieldPath, invalid, not_supported, required
from probate.kinds.shared.field_checks import Problems, Value, check_given, check_name, check_optional_name, check_rule, each, text

VOLUME_FIELDS = ("metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels", "metadata.annotations")

_ENV_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_POD_FIELDS = frozenset({*_ENV_FIELDS, *VOLUME_FIELDS, "spec.restartPolicy", "spec.schedulerName", "spec.hostNetwork"}) | {
    "status.phase",
    "status.nominatedNodeName",
}
_SUBSCRIPT = re.compile(r"(metadata\.(?:labels|annotations))\['([^']*)'\]")
_RESOURCES = tuple(f"{side}.{name}" for side in ("limits", "requests") for name in ("cpu", "memory", "ephemeral-storage"))
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_DIVISORS = {"cpu": ("1m", "1"), "memory": ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")}


def check_env(container: Value, path: FieldPath) -> Problems:
    """Validates the `env` of a container."""
    for variable, at in each(container, path, "env"):
        yield from check_name(variable, at, "name", rule=names.validate_env_var)
        if variable.get("valueFrom") is not None:
            yield from _check_source(variable, at / "valueFrom")


def check_env_from(container: Value, path: FieldPath) -> Problems:
    """Validates the `envFrom` of a container."""
    for source, at in each(container, path, "envFrom"):
        yield from check_optional_name(source, at, "prefix", rule=names.validate_env_var)
        given = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
        for name in given:
            yield from _check_reference(source[name], at / name)
        if not given:
            yield invalid(path / "envFrom", "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(given) > 1:
            yield invalid(path / "envFrom", "", "may not have more than one field specified at a time")


def check_field_ref(reference: Value, path: FieldPath, supported: Collection[str]) -> Problems:
    """Validates a reference to a field of the Pod."""
    field = text(reference, "fieldPath")
    subscript = _SUBSCRIPT.fullmatch(field)
    if not field:
        yield required(path / "fieldPath")
    elif text(reference, "apiVersion") not in {"", "v1"}:
        yield invalid(path / "fieldPath", field, "error converting fieldPath: unsupported pod version")
    elif subscript:
        is_label = subscript[1] == "metadata.labels"
        yield from check_rule(subscript[2] if is_label else subscript[2].lower(), path, names.validate_qualified_name)
    elif field not in _POD_FIELDS:
        yield invalid(path / "fieldPath", field, "field label not supported")
    elif field not in supported:
        yield not_supported(path / "fieldPath", field, supported)


def check_resource_ref(reference: Value, path: FieldPath, *, is_volume: bool = False) -> Problems:
    """Validates a reference to a container's resources."""
    resource = text(reference, "resource")
    if is_volume and not text(reference, "containerName"):
        yield required(path / "containerName")
    elif not resource:
        yield required(path / "resource")
    elif not _is_known(resource):
        yield not_supported(path / "resource", resource, _RESOURCES)
    yield from _check_divisor(reference, path)


def _is_known(resource: str) -> bool:
    return resource in _RESOURCES or resource.startswith(_HUGE_PAGES)


def _check_reference(reference: Value, path: FieldPath) -> Problems:
    """Validates the name of a ConfigMap or Secret. Kubernetes validates it as a name prefix, which may end in a dash."""
    name = text(reference, "name")
    if not name:
        yield required(path / "name")
    else:
        yield from (invalid(path / "name", name, problem) for problem in names.validate_prefix(names.validate_dns_subdomain, name))


def _check_divisor(reference: Value, path: FieldPath) -> Problems:
    divisor, resource = reference.get("divisor"), text(reference, "resource")
    if divisor in {None, "", "0", 0} or not _is_known(resource):
        return
    supported = _DIVISORS["cpu" if resource.endswith(".cpu") else "memory"]
    if str(divisor) not in supported:
        yield invalid(path / "divisor", divisor, f"must be one of {', '.join(supported)}")


def _check_source(variable: Value, path: FieldPath) -> Problems:
    source = variable["valueFrom"]
    given = [name for name in _SOURCES if source.get(name) is not None]
    for name in given:
        yield from _check_source_of(name, source[name], path / name)
    if not given:
        yield invalid(path, "", f"must specify one of: {', '.join(_SOURCES)}")
    elif text(variable, "value"):
        yield invalid(path, "", "may not be specified when `value` is not empty")
    elif len(given) > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")


def _check_source_of(name: str, source: Value, path: FieldPath) -> Problems:
    if name == "fieldRef":
        yield from check_field_ref(source, path, _ENV_FIELDS)
    elif name == "resourceFieldRef":
        yield from check_resource_ref(source, path)
    elif name == "fileKeyRef":
        yield from check_given(source, path, "volumeName", "path", "key")
    else:
        yield from check_rule(text(source, "name"), path / "name", names.validate_dns_subdomain)
        yield from check_name(source, path, "key", rule=names.validate_config_key)
