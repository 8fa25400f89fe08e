"""Validates the rules of webhooks and policies: which operations on which resources they match."""

from __future__ import annotations

from probate.api.field_errors import FieldPath, invalid, not_supported, required
from probate.kinds.shared.field_checks import Problems, Value, check_choice, texts

ALL = "*"
OPERATIONS = ("*", "CREATE", "UPDATE", "DELETE", "CONNECT")


def check_resource_rule(rule: Value, path: FieldPath) -> Problems:
    """Validates a rule of webhooks and policies."""
    for field in ("operations", "apiGroups", "apiVersions", "resources"):
        values = texts(rule, field)
        if not values:
            yield required(path / field)
        if len(values) > 1 and ALL in values and field != "resources":
            yield invalid(path / field, values, "if '*' is present, must not specify other values")
    yield from check_choice(rule, path, "scope", supported=("Cluster", "Namespaced", "*"))
    for index, operation in enumerate(texts(rule, "operations")):
        if operation not in OPERATIONS:
            yield not_supported(path / "operations" / index, operation, OPERATIONS)
    for field in ("apiVersions", "resources"):
        yield from (required(path / field / index) for index, value in enumerate(texts(rule, field)) if not value)
    yield from _check_resources(texts(rule, "resources"), path / "resources")


def _check_resources(resources: list[str], path: FieldPath) -> Problems:
    """Validates that no resource pattern includes one that comes after it."""
    yield from _check_subresources(resources, path)
    if "*/*" in resources and len(resources) > 1:
        yield invalid(path, resources, "if '*/*' is present, must not specify other resources")
    whole = [resource for resource in resources if "/" not in resource]
    # Kubernetes accepts `pods, *` and rejects `*, pods`: the last entry that is not a subresource decides.
    if ALL in whole and whole[-1] != ALL:
        yield invalid(path, resources, "if '*' is present, must not specify other resources without subresources")


def _check_subresources(resources: list[str], path: FieldPath) -> Problems:
    with_all_parts: set[str] = set()
    parts_of_all: set[str] = set()
    for index, resource in enumerate(resources):
        name, slash, part = resource.partition("/")
        if not slash:
            continue
        if name in with_all_parts:
            yield invalid(path / index, resource, f"if '{name}/*' is present, must not specify {resource}")
        if part in parts_of_all:
            yield invalid(path / index, resource, f"if '*/{part}' is present, must not specify {resource}")
        with_all_parts |= {name} if part == ALL else set()
        parts_of_all |= {part} if name == ALL else set()
