"""Validates label selectors and node selectors, and matches labels against a selector.

Paths start at the selector itself: `spec.selector.matchExpressions[0].operator`.
"""

from __future__ import annotations

from probate.api import metadata, names
from probate.api.field_errors import FieldPath, forbidden, invalid, required
from probate.kinds.shared.field_checks import Problems, Value, check_rule, child, each, items, objects, text, texts

_LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_NODE_OPERATORS = (*_LABEL_OPERATORS, "Gt", "Lt")


def check_label_selector(selector: Value | None, path: FieldPath) -> Problems:
    """Validates a label selector. None is valid: other checks decide if a selector is required."""
    if selector is None:
        return
    yield from metadata.validate_labels(selector.get("matchLabels"), path / "matchLabels")
    for expression, at in each(selector, path, "matchExpressions"):
        yield from _check_label_expression(expression, at)


def is_empty(selector: Value) -> bool:
    """Reports whether the selector has no requirements, so that it matches everything."""
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def is_match(selector: Value | None, labels: Value) -> bool:
    """Reports whether the labels match. None matches nothing."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in child(selector, "matchLabels").items()):
        return False
    return all(_is_met(expression, labels) for expression in objects(selector, "matchExpressions"))


def check_node_selector(selector: Value, path: FieldPath) -> Problems:
    """Validates a node selector: terms, of which one must hold."""
    if not items(selector, "nodeSelectorTerms"):
        yield required(path / "nodeSelectorTerms", "must have at least one node selector term")
    for term, at in each(selector, path, "nodeSelectorTerms"):
        yield from check_node_selector_term(term, at)
        for expression, place in each(term, at, "matchExpressions"):
            yield from _check_values(expression, place)


def check_node_selector_term(term: Value, path: FieldPath) -> Problems:
    """Validates the requirements of a node selector term, all of which must hold.

    Values that are not valid label values match nothing.
    """
    for expression, at in each(term, path, "matchExpressions"):
        yield from check_rule(text(expression, "key"), at / "key", names.validate_qualified_name)
        yield from _check_operator(expression, at, is_node=True)
    for expression, at in each(term, path, "matchFields"):
        yield from _check_node_field(expression, at)


def _check_label_expression(expression: Value, path: FieldPath) -> Problems:
    yield from _check_operator(expression, path, is_node=False)
    yield from check_rule(text(expression, "key"), path / "key", names.validate_qualified_name)
    yield from _check_values(expression, path)


def _check_values(expression: Value, path: FieldPath) -> Problems:
    for index, value in enumerate(texts(expression, "values")):
        yield from check_rule(value, path / "values" / index, names.validate_label_value)


def _check_operator(expression: Value, path: FieldPath, *, is_node: bool) -> Problems:
    operator, values = text(expression, "operator"), texts(expression, "values")
    supported = _NODE_OPERATORS if is_node else _LABEL_OPERATORS
    if operator in {"In", "NotIn"} and not values:
        yield required(path / "values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in {"Exists", "DoesNotExist"} and values:
        yield forbidden(path / "values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif operator in {"Gt", "Lt"} and is_node and len(values) != 1:
        yield required(path / "values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    elif operator not in supported:
        yield invalid(path / "operator", operator, "not a valid selector operator")


def _check_node_field(expression: Value, path: FieldPath) -> Problems:
    operator, values = text(expression, "operator"), texts(expression, "values")
    if operator not in {"In", "NotIn"}:
        yield invalid(path / "operator", operator, "not a valid selector operator")
    elif len(values) != 1:
        yield required(path / "values", "must be only one value when `operator` is 'In' or 'NotIn' for node field selector")
    if text(expression, "key") != "metadata.name":
        yield invalid(path / "key", text(expression, "key"), "not a valid field selector key")
        return
    for index, value in enumerate(values):
        yield from check_rule(value, path / "values" / index, names.validate_dns_subdomain)


def _is_met(expression: Value, labels: Value) -> bool:
    key, operator, values = text(expression, "key"), text(expression, "operator"), texts(expression, "values")
    if operator == "In":
        return key in labels and labels[key] in values
    if operator == "NotIn":
        return key not in labels or labels[key] not in values
    return (key in labels) == (operator == "Exists")
