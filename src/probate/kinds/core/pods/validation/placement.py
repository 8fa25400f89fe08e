"""Validates where a Pod may run: affinity, tolerations, topology spread constraints, scheduling gates."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from probate.api import metadata, names
from probate.api.field_errors import FieldPath, duplicate, invalid, not_supported, required
from probate.kinds.core.pods.volumes import label_keys
from probate.kinds.shared.field_checks import (
    Problems,
    Value,
    check_between,
    check_choice,
    check_rule,
    child,
    each,
    objects,
    text,
    texts,
)
from probate.kinds.shared.selector_validation import check_label_selector, check_node_selector, check_node_selector_term

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

_OPERATORS = ("Equal", "Exists")
_NEEDED = "requiredDuringSchedulingIgnoredDuringExecution"
_WANTED = "preferredDuringSchedulingIgnoredDuringExecution"


def check_scheduling(spec: Value, path: FieldPath) -> Problems:
    """Validates all fields that determine where a Pod may run."""
    yield from metadata.validate_labels(spec.get("nodeSelector"), path / "nodeSelector")
    yield from _check_affinity(child(spec, "affinity"), path / "affinity")
    for toleration, at in each(spec, path, "tolerations"):
        yield from _check_toleration(toleration, at)
    yield from _check_spread(spec, path)
    yield from _check_gates(spec, path)


def _check_affinity(affinity: Value, path: FieldPath) -> Problems:
    node = child(affinity, "nodeAffinity")
    if node.get(_NEEDED) is not None:
        yield from check_node_selector(node[_NEEDED], path / "nodeAffinity" / _NEEDED)
    for term, at in each(node, path / "nodeAffinity", _WANTED):
        yield from check_between(term, at, "weight", low=1, high=100)
        yield from check_node_selector_term(child(term, "preference"), at / "preference")
    for name in ("podAffinity", "podAntiAffinity"):
        for term, at in each(child(affinity, name), path / name, _NEEDED):
            yield from _check_pod_term(term, at)
        for term, at in each(child(affinity, name), path / name, _WANTED):
            yield from check_between(term, at, "weight", low=1, high=100)
            yield from _check_pod_term(child(term, "podAffinityTerm"), at / "podAffinityTerm")


def _check_pod_term(term: Value, path: FieldPath) -> Problems:
    yield from check_label_selector(term.get("labelSelector"), path / "labelSelector")
    yield from check_label_selector(term.get("namespaceSelector"), path / "namespaceSelector")
    for namespace in texts(term, "namespaces"):
        yield from check_rule(namespace, path / "namespace", names.validate_dns_label)
    yield from label_keys.check_in_term(term, path)
    key = text(term, "topologyKey")
    if not key:
        yield required(path / "topologyKey", "can not be empty")
    else:
        yield from check_rule(key, path / "topologyKey", names.validate_qualified_name)


def _check_toleration(toleration: Value, path: FieldPath) -> Problems:
    key, effect = text(toleration, "key"), text(toleration, "effect")
    operator = text(toleration, "operator") or "Equal"
    if key:
        yield from check_rule(key, path / "key", names.validate_qualified_name)
    elif operator != "Exists":
        yield invalid(path / "operator", operator, "operator must be Exists when `key` is empty, which matches all keys")
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield invalid(path / "effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
    yield from _check_toleration_operator(operator, text(toleration, "value"), path / "operator")
    yield from check_choice(toleration, path, "effect", supported=EFFECTS)


def _check_toleration_operator(operator: str, value: str, path: FieldPath) -> Problems:
    if operator == "Equal":
        if names.validate_label_value(value):
            yield invalid(path, value, "; ".join(names.validate_label_value(value)))
    elif operator != "Exists":
        yield not_supported(path, operator, _OPERATORS)
    elif value:
        yield invalid(path, operator, "value must be empty when `operator` is 'Exists'")


def _check_spread(spec: Value, path: FieldPath) -> Problems:
    pairs = [(text(one, "topologyKey"), text(one, "whenUnsatisfiable")) for one in objects(spec, "topologySpreadConstraints")]
    last = {pair: index for index, pair in enumerate(pairs)}
    for index, (constraint, at) in enumerate(each(spec, path, "topologySpreadConstraints")):
        if (constraint.get("maxSkew") or 0) <= 0:
            yield invalid(at / "maxSkew", constraint.get("maxSkew") or 0, "must be greater than zero")
        if not text(constraint, "topologyKey"):
            yield required(at / "topologyKey", "can not be empty")
        unsatisfiable = text(constraint, "whenUnsatisfiable")
        supported = ("DoNotSchedule", "ScheduleAnyway")
        if unsatisfiable not in supported:
            yield not_supported(at / "whenUnsatisfiable", unsatisfiable, supported)
        if last[pairs[index]] > index:  # Kubernetes reports the first of the two, at a path of its own
            yield duplicate(at / "{topologyKey, whenUnsatisfiable}", f"{{{', '.join(pairs[index])}}}")
        yield from _check_spread_details(constraint, at, ("Ignore", "Honor"))


def _check_spread_details(constraint: Value, path: FieldPath, policies: Collection[str]) -> Problems:
    least = constraint.get("minDomains")
    if least is not None and least <= 0:
        yield invalid(path / "minDomains", least, "must be greater than zero")
    if least is not None and text(constraint, "whenUnsatisfiable") != "DoNotSchedule":
        detail = "can only use minDomains if whenUnsatisfiable=DoNotSchedule"
        yield invalid(path / "minDomains", least, detail)
    yield from check_choice(constraint, path, "nodeAffinityPolicy", supported=policies)
    yield from check_choice(constraint, path, "nodeTaintsPolicy", supported=policies)
    yield from check_label_selector(constraint.get("labelSelector"), path / "labelSelector")
    yield from label_keys.check_in_constraint(constraint, path)


def _check_gates(spec: Value, path: FieldPath) -> Problems:
    seen: set[Any] = set()
    for gate, at in each(spec, path, "schedulingGates"):
        yield from check_rule(text(gate, "name"), at, names.validate_qualified_name)
        if text(gate, "name") in seen:
            yield duplicate(at, text(gate, "name"))
        seen.add(text(gate, "name"))
