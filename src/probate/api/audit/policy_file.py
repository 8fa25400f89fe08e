"""From the text of a policy file to a policy: Kubernetes' `audit.k8s.io/v1`, in YAML or JSON. What is wrong says where."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from probate.api import documents
from probate.api.audit.policy import LEVELS, STAGES, Level, Policy, Resources, Rule, Verdict
from probate.core import errors

API_VERSION, KIND = "audit.k8s.io/v1", "Policy"
MAX_BYTES = 1024 * 1024

Object = dict[str, Any]

USUAL = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None # how the server is, and what it serves
  verbs: [get, head]
  nonResourceURLs: [/healthz*, /livez*, /readyz*, /version, /openapi/*, /api, /api/*, /apis, /apis/*]
- level: None # that those are alive who say so every few seconds
  users: ["system:kube-controller-manager", "system:serviceaccount:kube-system:probate-servers"]
  verbs: [get, update, patch]
  resources: [{group: coordination.k8s.io, resources: [leases]}]
- level: Metadata
"""
"""The policy of who gives none."""

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


class Wrong(errors.ProbateError):
    """The policy cannot be used. The message says where it is wrong, and what would be right."""


def read(text: bytes) -> Policy:
    """The policy in this file. `Wrong` if it is none."""
    if len(text) > MAX_BYTES:
        raise Wrong(f"it is larger than {MAX_BYTES:,} bytes")
    try:
        found = documents.parse_yaml(text, finds_duplicates=True)
    except errors.ApiError as error:
        raise Wrong(f"it is not YAML: {' '.join(str(error).split())}") from None
    if found.duplicates:
        raise Wrong(f"{found.duplicates[0]} is given twice")
    value = _object(found.value, "the file", "policy")
    if (value.get("apiVersion"), value.get("kind")) != (API_VERSION, KIND):
        raise Wrong(f"it must say apiVersion: {API_VERSION} and kind: {KIND}")
    rules = _list(value, "", "rules", lambda one, where: _rule(one, where, value))
    if not rules:
        raise Wrong("rules: there are none, so nothing would be written down. Add one, such as {level: Metadata}")
    return Policy(rules)


def _rule(given: Any, where: str, policy: Object) -> Rule:
    rule = _object(given, where, "rule")
    level = rule.get("level")
    if level not in LEVELS:
        raise Wrong(f"{where}.level: give {', '.join(LEVELS)}; it is {level!r}")
    resources = _list(rule, where, "resources", _resources)
    namespaces, paths = _texts(rule, where, "namespaces"), _list(rule, where, "nonResourceURLs", _path)
    if paths and (resources or namespaces):
        raise Wrong(f"{where}.nonResourceURLs: a rule is about resources (resources, namespaces) or about other paths, not both")
    return Rule(
        Verdict(LEVELS[level], _stages(policy, "") | _stages(rule, where), _omits_managed_fields(rule, where, policy)),
        _texts(rule, where, "users"),
        _texts(rule, where, "userGroups"),
        _texts(rule, where, "verbs"),
        namespaces,
        resources,
        paths,
    )


def _stages(given: Object, where: str) -> frozenset[str]:
    stages = _texts(given, where, "omitStages")
    for stage in stages:
        if stage not in STAGES:
            raise Wrong(f"{_at(where, 'omitStages')}: give {', '.join(STAGES)}; one is {stage!r}")
    return frozenset(stages)


def _omits_managed_fields(rule: Object, where: str, policy: Object) -> bool:
    """As the rule says; if it does not, as the policy does."""
    for given, at in ((rule, where), (policy, "")):
        found = given.get("omitManagedFields")
        if found is not None:
            if not isinstance(found, bool):
                raise Wrong(f"{_at(at, 'omitManagedFields')}: give true or false")
            return found
    return False


def _resources(given: Any, where: str) -> Resources:
    one = _object(given, where, "resources")
    group = one.get("group") or ""
    if not isinstance(group, str) or "/" in group:
        raise Wrong(f'{where}.group: give the name of a group without its version, such as apps, or "" for pods and the like')
    found = Resources(group, _list(one, where, "resources", _resource), _texts(one, where, "resourceNames"))
    if found.names and not found.resources:
        raise Wrong(f"{where}.resourceNames: say of which resources the names are")
    return found


def _resource(given: Any, where: str) -> str:
    parts = given.split("/") if isinstance(given, str) else []
    if not 1 <= len(parts) <= 2 or not all(parts):
        raise Wrong(f"{where}: give a resource (pods), one of its parts (pods/log), pods/*, */scale or *; it is {given!r}")
    return str(given)


def _path(given: Any, where: str) -> str:
    if not isinstance(given, str) or "*" in given[:-1] or not (given == "*" or given.startswith("/")):
        raise Wrong(f"{where}: give a path that begins with / and may end with *; it is {given!r}")
    return given


def _object(given: Any, where: str, what: str) -> Object:
    if not isinstance(given, dict):
        raise Wrong(f"{where}: this must be an object")
    for name in given:
        if name not in _FIELDS[what]:
            raise Wrong(f"{where}: nobody knows a field {name!r} here: there are {', '.join(sorted(_FIELDS[what]))}")
    return given


def _texts(given: Object, where: str, name: str) -> tuple[str, ...]:
    return _list(given, where, name, _text)


def _text(given: Any, where: str) -> str:
    if not isinstance(given, str):
        raise Wrong(f"{where}: this must be a text; it is {given!r}")
    return given


def _list(given: Object, where: str, name: str, read_one: Callable[[Any, str], Any]) -> tuple[Any, ...]:
    found = given.get(name)
    if found is not None and not isinstance(found, list):
        raise Wrong(f"{_at(where, name)}: this must be a list")
    return tuple(read_one(one, f"{_at(where, name)}[{place}]") for place, one in enumerate(found or []))


def _at(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def usual() -> Policy:
    """The policy of who gives none."""
    return read(USUAL.encode())


__all__ = ["Level", "Wrong", "read", "usual"]
