"""Validates FlowSchemas, which classify requests, and PriorityLevelConfigurations, which share the server's capacity."""

from __future__ import annotations

import math

from probate.api import names
from probate.api.field_errors import FieldPath, forbidden, invalid, not_supported, required
from probate.kinds.shared.field_checks import (
    Problems,
    Value,
    check_between,
    check_given,
    check_name,
    check_nonnegative,
    check_rule,
    child,
    each,
    text,
    texts,
)

ALL = "*"
EXEMPT = "exempt"
"""The FlowSchema and the level of requests that never queue. No other level may be exempt."""

_SPEC = FieldPath("spec")
_MAX_PRECEDENCE = 10_000
_MAX_QUEUES = 10_000_000
_MAX_HASH_BITS = 60
_VERBS = ("get", "list", "create", "update", "patch", "delete", "deletecollection", "watch", "proxy")
_SUBJECTS = {"User": "user", "Group": "group", "ServiceAccount": "serviceAccount"}
_LEVELS = {"Limited": "limited", "Exempt": "exempt"}


def check_flow_schema(schema: Value) -> Problems:
    """Validates a FlowSchema: it assigns requests to a priority level."""
    spec, name = child(schema, "spec"), text(child(schema, "metadata"), "name")
    precedence = spec.get("matchingPrecedence")
    if precedence is not None and not 1 <= precedence <= _MAX_PRECEDENCE:
        yield invalid(_SPEC / "matchingPrecedence", precedence, f"must be between 1 and {_MAX_PRECEDENCE}")
    if precedence == 1 and name != EXEMPT:
        yield invalid(_SPEC / "matchingPrecedence", precedence, "only the schema named 'exempt' may have matchingPrecedence 1")
    if spec.get("distinguisherMethod") is not None:
        yield from _check_one_of(
            spec["distinguisherMethod"], _SPEC / "distinguisherMethod", "type", supported=("ByUser", "ByNamespace")
        )
    level = child(spec, "priorityLevelConfiguration")
    yield from check_name(level, _SPEC / "priorityLevelConfiguration", "name", rule=names.validate_dns_subdomain)
    for rule, at in each(spec, _SPEC, "rules"):
        yield from _check_rule_of_flow(rule, at)


def check_priority_level(level: Value) -> Problems:
    """Validates a PriorityLevelConfiguration: it is limited or exempt, and has only the fields of that type."""
    spec, name = child(level, "spec"), text(child(level, "metadata"), "name")
    kind = text(spec, "type")
    if (name == EXEMPT) != (kind == "Exempt"):
        yield invalid(_SPEC / "type", kind, "type must be 'Exempt' if and only if name is 'exempt'")
    if kind not in _LEVELS:
        yield not_supported(_SPEC / "type", kind, _LEVELS)
        return
    if kind == "Limited" and spec.get("limited") is None:
        yield required(_SPEC / "limited", "must not be empty when type is Limited")
    for other, field in _LEVELS.items():
        if other != kind and spec.get(field) is not None:
            yield forbidden(_SPEC / field, f"must be nil if the type is {kind}")
    yield from _check_shares(child(spec, _LEVELS[kind]), _SPEC / _LEVELS[kind])
    if kind == "Limited" and spec.get("limited") is not None:
        yield from _check_limit_response(child(spec["limited"], "limitResponse"), _SPEC / "limited" / "limitResponse")


def _check_one_of(object_: Value, path: FieldPath, field: str, *, supported: tuple[str, ...]) -> Problems:
    """Validates that the text is one of the supported values. Empty is not supported."""
    if text(object_, field) not in supported:
        yield not_supported(path / field, text(object_, field), supported)


def _check_rule_of_flow(rule: Value, path: FieldPath) -> Problems:
    yield from check_given(rule, path, "subjects")
    for subject, at in each(rule, path, "subjects"):
        yield from _check_subject(subject, at)
    if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
        yield required(path, "at least one of resourceRules and nonResourceRules has to be non-empty")
    for one, at in each(rule, path, "resourceRules"):
        yield from _check_verbs(one, at)
        yield from _check_listed(one, at, "apiGroups")
        yield from _check_listed(one, at, "resources")
        yield from _check_namespaces(one, at)
    for one, at in each(rule, path, "nonResourceRules"):
        yield from _check_verbs(one, at)
        yield from _check_listed(one, at, "nonResourceURLs")
        if ALL not in texts(one, "nonResourceURLs"):
            yield from _check_urls(texts(one, "nonResourceURLs"), at / "nonResourceURLs")


def _check_subject(subject: Value, path: FieldPath) -> Problems:
    kind = text(subject, "kind")
    if kind not in _SUBJECTS:
        yield not_supported(path / "kind", kind, _SUBJECTS)
        return
    for other, field in _SUBJECTS.items():
        if other != kind and subject.get(field) is not None:
            yield forbidden(path / field, f"{field} is forbidden when subject kind is not '{other}'")
    field = _SUBJECTS[kind]
    if subject.get(field) is None:
        yield required(path / field, f"{field} is required when subject kind is '{kind}'")
    elif kind == "ServiceAccount":
        yield from _check_account(subject[field], path / field)
    else:
        yield from check_given(subject[field], path / field, "name")


def _check_account(account: Value, path: FieldPath) -> Problems:
    if text(account, "name") != ALL:
        yield from check_name(account, path, "name", rule=names.validate_dns_subdomain)
    yield from check_name(account, path, "namespace", rule=names.validate_dns_label)


def _check_listed(rule: Value, path: FieldPath, field: str) -> Problems:
    """Validates that the list has at least one item, and that `*` is the only item."""
    values = texts(rule, field)
    if not values:
        yield required(path / field, f"{field} must contain at least one value")
    elif ALL in values and len(values) > 1:
        yield invalid(path / field, values, f"if '*' is present, must not specify other {field}")


def _check_verbs(rule: Value, path: FieldPath) -> Problems:
    verbs = texts(rule, "verbs")
    yield from _check_listed(rule, path, "verbs")
    if ALL not in verbs and not set(verbs) <= set(_VERBS):
        yield not_supported(path / "verbs", verbs, _VERBS)


def _check_namespaces(rule: Value, path: FieldPath) -> Problems:
    namespaces = texts(rule, "namespaces")
    if namespaces or not rule.get("clusterScope"):
        yield from _check_listed(rule, path, "namespaces")
    for index, namespace in enumerate(() if ALL in namespaces else namespaces):
        yield from check_rule(namespace, path / "namespaces" / index, names.validate_dns_label)


def _check_urls(urls: list[str], path: FieldPath) -> Problems:
    for index, url in enumerate(urls):
        fault = _url_problem(url)
        if fault:
            yield invalid(path / index, url, fault)


def _url_problem(url: str) -> str:
    if not url:
        return "must not be empty"
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    is_pattern = url.count("*") > 1 or ("*" in url and not url.endswith("/*"))
    return "wildcard can only do suffix matching" if is_pattern else ""


def _check_shares(level: Value, path: FieldPath) -> Problems:
    yield from check_nonnegative(level, path, "nominalConcurrencyShares", "borrowingLimitPercent")
    yield from check_between(level, path, "lendablePercent", low=0, high=100)


def _check_limit_response(response: Value, path: FieldPath) -> Problems:
    kind, queuing = text(response, "type"), response.get("queuing")
    yield from _check_one_of(response, path, "type", supported=("Queue", "Reject"))
    if kind == "Reject" and queuing is not None:
        yield forbidden(path / "queuing", "must be nil if limited.limitResponse.type is not Queue")
    if kind == "Queue" and queuing is None:
        yield required(path / "queuing", "must not be empty if limited.limitResponse.type is Queue")
    elif kind == "Queue" and queuing is not None:
        yield from _check_queuing(queuing, path / "queuing")


def _check_queuing(queuing: Value, path: FieldPath) -> Problems:
    numbers = {field: queuing.get(field) or 0 for field in ("queueLengthLimit", "queues", "handSize")}
    for field, number in numbers.items():
        if number <= 0:
            yield invalid(path / field, number, "must be positive")
    queues, hand = numbers["queues"], numbers["handSize"]
    if queues > _MAX_QUEUES:
        yield invalid(path / "queues", queues, f"must not be greater than {_MAX_QUEUES}")
    if hand > 0:
        yield from _check_hand(queues, hand, path / "handSize")


def _check_hand(queues: int, hand: int, path: FieldPath) -> Problems:
    """Validates that the hash of a flow has enough bits to draw all queues of its hand from."""
    if hand > queues:
        yield invalid(path, hand, f"should not be greater than queues ({queues})")
    elif math.ceil(math.log2(queues) * hand) > _MAX_HASH_BITS:
        yield invalid(path, hand, f"{hand} of {queues} queues cannot be drawn from {_MAX_HASH_BITS} bits")
