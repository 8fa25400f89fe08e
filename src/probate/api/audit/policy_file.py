"""Parses an audit policy file: Kubernetes' `audit.k8s.io/v1`, in YAML or JSON. Errors name the path of the wrong field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from probate.api.audit.policy import LEVELS, STAGES, AuditConfig, GroupResources, Level, Policy, Rule
from probate.api.objects import Object
from probate.api.serialization import documents
from probate.core import errors

API_VERSION, KIND = "audit.k8s.io/v1", "Policy"
MAX_BYTES = 1024 * 1024


DEFAULT_POLICY = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None # health and discovery
  verbs: [get, head]
  nonResourceURLs: [/healthz*, /livez*, /readyz*, /version, /openapi/*, /api, /api/*, /apis, /apis/*]
- level: None # leases that controllers renew every few seconds
  users: ["system:kube-controller-manager", "system:serviceaccount:kube-system:probate-servers"]
  verbs: [get, update, patch]
  resources: [{group: coordination.k8s.io, resources: [leases]}]
- level: Metadata
"""
"""The policy of a server that is started without a policy file."""

_FIELDS = {
    "policy": {"apiVersion", "kind", "metadata", "rules", "omitStages", "omitManagedFields"},
    "rule": {
        "level",
        "users",
        "userGroups",
        "verbs",
        "resources",
        "namespaces",
        "nonResourceURLs",
        "omitStages",
        "omitManagedFields",
    },
    "resources": {"group", "resources", "resourceNames"},
}


class PolicyError(errors.ProbateError):
    """The policy is invalid. The message names the field and what would be valid."""


def parse_policy(text: bytes) -> Policy:
    """Parses a policy file. Raises `PolicyError`."""
    if len(text) > MAX_BYTES:
        raise PolicyError(f"it is larger than {MAX_BYTES:,} bytes")
    try:
        document = documents.parse_yaml(text, finds_duplicates=True)
    except errors.ApiError as error:
        raise PolicyError(f"it is not YAML: {' '.join(str(error).split())}") from None
    if document.duplicates:
        raise PolicyError(f"{document.duplicates[0]} is set twice")
    value = _object(document.value, "the file", "policy")
    if (value.get("apiVersion"), value.get("kind")) != (API_VERSION, KIND):
        raise PolicyError(f"it must have apiVersion: {API_VERSION} and kind: {KIND}")
    rules = _list(value, "", "rules", parse_item=lambda item, path: _rule(item, path, value))
    if not rules:
        raise PolicyError("rules: there are none, so nothing would be logged. Add one, such as {level: Metadata}")
    return Policy(rules)


def _rule(value: Any, path: str, policy: Object) -> Rule:
    rule = _object(value, path, "rule")
    level = rule.get("level")
    if level not in LEVELS:
        raise PolicyError(f"{path}.level: must be one of {', '.join(LEVELS)}; it is {level!r}")
    resources = _list(rule, path, "resources", parse_item=_resources)
    namespaces, urls = _strings(rule, path, "namespaces"), _list(rule, path, "nonResourceURLs", parse_item=_path)
    if urls and (resources or namespaces):
        raise PolicyError(
            f"{path}.nonResourceURLs: a rule matches resources (resources, namespaces) or non-resource URLs, not both"
        )
    return Rule(
        AuditConfig(LEVELS[level], _stages(policy, "") | _stages(rule, path), _omits_managed_fields(rule, path, policy)),
        _strings(rule, path, "users"),
        _strings(rule, path, "userGroups"),
        _strings(rule, path, "verbs"),
        namespaces,
        resources,
        urls,
    )


def _stages(value: Object, path: str) -> frozenset[str]:
    stages = _strings(value, path, "omitStages")
    for stage in stages:
        if stage not in STAGES:
            raise PolicyError(f"{_field_path(path, 'omitStages')}: must be from {', '.join(STAGES)}; one is {stage!r}")
    return frozenset(stages)


def _omits_managed_fields(rule: Object, path: str, policy: Object) -> bool:
    """Returns the rule's setting, or else the policy's."""
    for value, location in ((rule, path), (policy, "")):
        setting = value.get("omitManagedFields")
        if setting is not None:
            if not isinstance(setting, bool):
                raise PolicyError(f"{_field_path(location, 'omitManagedFields')}: must be true or false")
            return setting
    return False


def _resources(value: Any, path: str) -> GroupResources:
    entry = _object(value, path, "resources")
    group = entry.get("group") or ""
    if not isinstance(group, str) or "/" in group:
        raise PolicyError(f'{path}.group: must be the name of a group without its version, such as apps, or "" for the core group')
    resources = GroupResources(group, _list(entry, path, "resources", parse_item=_resource), _strings(entry, path, "resourceNames"))
    if resources.names and not resources.resources:
        raise PolicyError(f"{path}.resourceNames: set resources, too, to say of which resources these are names")
    return resources


def _resource(value: Any, path: str) -> str:
    parts = value.split("/") if isinstance(value, str) else []
    if not 1 <= len(parts) <= 2 or not all(parts):
        raise PolicyError(f"{path}: must be a resource (pods), a subresource (pods/log), pods/*, */scale or *; it is {value!r}")
    return str(value)


def _path(value: Any, path: str) -> str:
    if not isinstance(value, str) or "*" in value[:-1] or not (value == "*" or value.startswith("/")):
        raise PolicyError(f"{path}: must be a path that begins with / and may end with *; it is {value!r}")
    return value


def _object(value: Any, path: str, type_name: str) -> Object:
    if not isinstance(value, dict):
        raise PolicyError(f"{path}: this must be an object")
    for name in value:
        if name not in _FIELDS[type_name]:
            raise PolicyError(f"{path}: unknown field {name!r}; the fields are {', '.join(sorted(_FIELDS[type_name]))}")
    return value


def _strings(value: Object, path: str, name: str) -> tuple[str, ...]:
    return _list(value, path, name, parse_item=_string)


def _string(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise PolicyError(f"{path}: this must be a string; it is {value!r}")
    return value


def _list(value: Object, path: str, name: str, *, parse_item: Callable[[Any, str], Any]) -> tuple[Any, ...]:
    items = value.get(name)
    if items is not None and not isinstance(items, list):
        raise PolicyError(f"{_field_path(path, name)}: this must be a list")
    return tuple(parse_item(item, f"{_field_path(path, name)}[{index}]") for index, item in enumerate(items or []))


def _field_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def default_policy() -> Policy:
    """Returns the default policy."""
    return parse_policy(DEFAULT_POLICY.encode())


__all__ = ["Level", "PolicyError", "default_policy", "parse_policy"]
