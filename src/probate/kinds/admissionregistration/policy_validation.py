"""Validates admission policies, and the CEL expressions of policies and webhooks."""

from __future__ import annotations

import re
from typing import Any

from probate.api import names
from probate.api.field_errors import FieldError, FieldPath, duplicate, invalid, required, too_many
from probate.api.gvk import GroupVersion
from probate.api.policies.compiled_policy import compile_conditions
from probate.api.policies.environment import OptionalVariables
from probate.api.policies.expression_check import validate_expressions
from probate.kinds.admissionregistration.resource_rules import check_resource_rule
from probate.kinds.shared.field_checks import (
    Problems,
    Value,
    check_choice,
    check_given,
    check_name,
    check_rule,
    check_unique,
    child,
    each,
    items,
    text,
    texts,
)
from probate.kinds.shared.selector_validation import check_label_selector
from probate.lib.cel.errors import CompileError
from probate.lib.cel.syntax.lexer import RESERVED
from probate.lib.cel.types import BOOL, is_assignable

SPEC = FieldPath("spec")
REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized")
MAX_CONDITIONS = 64
MAX_ANNOTATIONS = 20
MAX_EXPRESSIONS = 500
"""The maximum number of validations, mutations or variables of one policy.

Kubernetes has no such limit, but each is compiled at once.
"""

_MOST = {
    "validations": MAX_EXPRESSIONS,
    "mutations": MAX_EXPRESSIONS,
    "variables": MAX_EXPRESSIONS,
    "matchConditions": MAX_CONDITIONS,
    "auditAnnotations": MAX_ANNOTATIONS,
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BREAK = re.compile(r"[\n\r]")


def check_validating(policy: Value) -> Problems:
    """Validates a ValidatingAdmissionPolicy."""
    spec = child(policy, "spec")
    if excess := _excess(spec):
        yield from excess
        return
    yield from _check_policy(spec)
    if not items(spec, "validations") and not items(spec, "auditAnnotations"):
        message = "validations or auditAnnotations must contain at least one item"
        yield required(SPEC / "validations", message)
        yield required(SPEC / "auditAnnotations", message)
    for one, at in each(spec, SPEC, "validations"):
        yield from _check_validation(one, at)
    yield from _check_annotations(spec)
    yield from validate_expressions(policy)


def check_mutating(policy: Value) -> Problems:
    """Validates a MutatingAdmissionPolicy."""
    spec = child(policy, "spec")
    if excess := _excess(spec):
        yield from excess
        return
    yield from _check_policy(spec)
    yield from check_choice(spec, SPEC, "reinvocationPolicy", supported=("Never", "IfNeeded"), is_required=True)
    if not items(spec, "mutations"):
        yield required(SPEC / "mutations", "mutations must contain at least one item")
    for one, at in each(spec, SPEC, "mutations"):
        yield from _check_mutation(one, at)
    yield from validate_expressions(policy)


def check_conditions(parent: Value, path: FieldPath, *, speaks: OptionalVariables | None = None) -> Problems:
    """Validates `matchConditions`.

    For policies, whose expressions are compiled together, `speaks` is None.
    """
    conditions, here = items(parent, "matchConditions"), path / "matchConditions"
    if len(conditions) > MAX_CONDITIONS:
        yield too_many(here, len(conditions), MAX_CONDITIONS)
        return
    seen: set[Any] = set()
    for one, at in each(parent, path, "matchConditions"):
        yield from check_name(one, at, "name", rule=names.validate_qualified_name)
        yield from check_unique(one, at, "name", seen=seen)
        if not text(one, "expression").strip():
            yield required(at / "expression")
    if speaks is not None:
        yield from _check_compiled(conditions, here, speaks)


def _check_compiled(conditions: list[Value], path: FieldPath, speaks: OptionalVariables) -> Problems:
    for index, one in enumerate(compile_conditions(conditions, speaks)):
        at = path / index / "expression"
        if isinstance(one.program, CompileError):
            if one.source.strip():
                yield invalid(at, one.source, f"compilation failed: {one.program}")
        elif not is_assignable(BOOL, one.type, {}):
            yield invalid(at, one.source, "must evaluate to bool")


def _excess(spec: Value) -> list[FieldError]:
    """Returns a problem for each list that is too long: nothing else is checked then."""
    found = {field: len(items(spec, field)) for field, most in _MOST.items() if len(items(spec, field)) > most}
    return [
        invalid(SPEC / field, number, f"must not have more than {MAX_ANNOTATIONS} auditAnnotations")
        if field == "auditAnnotations"
        else too_many(SPEC / field, number, _MOST[field])
        for field, number in found.items()
    ]


def _check_policy(spec: Value) -> Problems:
    yield from check_choice(spec, SPEC, "failurePolicy", supported=("Fail", "Ignore"))
    if spec.get("paramKind") is not None:
        yield from _check_param_kind(child(spec, "paramKind"), SPEC / "paramKind")
    if spec.get("matchConstraints") is None:
        yield required(SPEC / "matchConstraints")
    else:
        yield from check_match(child(spec, "matchConstraints"), SPEC / "matchConstraints", needs_rules=True)
    yield from check_conditions(spec, SPEC)
    seen: set[Any] = set()
    for one, at in each(spec, SPEC, "variables"):
        yield from _check_variable(one, at, seen)


def _check_param_kind(kind: Value, path: FieldPath) -> Problems:
    yield from check_given(kind, path, "apiVersion", "kind")
    version = text(kind, "apiVersion")
    if version.count("/") > 1:
        yield invalid(path / "apiVersion", version, "must be a group and a version joined by '/'")
    elif version:
        parsed = GroupVersion.parse(version)
        if parsed.group:
            yield from check_rule(parsed.group, path / "apiVersion", names.validate_dns_subdomain)
        yield from check_rule(parsed.version, path / "apiVersion", names.validate_dns_1035_label)
    if text(kind, "kind"):
        yield from (
            invalid(path / "kind", text(kind, "kind"), one) for one in names.validate_dns_1035_label(text(kind, "kind").lower())
        )


def _check_variable(variable: Value, path: FieldPath, seen: set[Any]) -> Problems:
    name = text(variable, "name")
    if not name:
        yield required(path / "name", "name is not specified")
    elif not _NAME.fullmatch(name) or name in RESERVED or name in {"true", "false", "null", "in"}:
        yield invalid(path / "name", name, "name is not a valid CEL identifier")
    else:
        yield from check_unique(variable, path, "name", seen=seen)
    if not text(variable, "expression").strip():
        yield required(path / "expression", "expression is not specified")


def _check_validation(validation: Value, path: FieldPath) -> Problems:
    expression, message = text(validation, "expression"), text(validation, "message")
    if not expression.strip():
        yield required(path / "expression", "expression is not specified")
    if text(validation, "messageExpression") and not text(validation, "messageExpression").strip():
        yield invalid(path / "messageExpression", text(validation, "messageExpression"), "must be non-empty if specified")
    if message and not message.strip():
        yield invalid(path / "message", message, "message must be non-empty if specified")
    elif _BREAK.search(message):
        yield invalid(path / "message", message, "message must not contain line breaks")
    elif _BREAK.search(expression) and not message:
        yield required(path / "message", "message must be specified if expression contains line breaks")
    yield from check_choice(validation, path, "reason", supported=REASONS)


def _check_annotations(spec: Value) -> Problems:
    seen: set[Any] = set()
    for one, at in each(spec, SPEC, "auditAnnotations"):
        yield from check_name(one, at, "key", rule=names.validate_qualified_name)
        yield from check_unique(one, at, "key", seen=seen)
        if not text(one, "valueExpression").strip():
            yield required(at / "valueExpression", "valueExpression is not specified")


def _check_mutation(mutation: Value, path: FieldPath) -> Problems:
    yield from check_choice(mutation, path, "patchType", supported=("ApplyConfiguration", "JSONPatch"), is_required=True)
    fields = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
    expected = fields.get(text(mutation, "patchType"))
    for field in fields.values():
        is_given = mutation.get(field) is not None
        if field == expected and not text(child(mutation, field), "expression").strip():
            yield required(path / field / "expression", "expression is not specified")
        elif field != expected and is_given and expected is not None:
            yield invalid(path / field, mutation[field], f"must not be set when patchType is {text(mutation, 'patchType')}")


def check_match(match: Value, path: FieldPath, *, needs_rules: bool) -> Problems:
    """Validates which requests a policy or a binding matches."""
    if needs_rules and not items(match, "resourceRules"):
        yield required(path / "resourceRules")
    yield from check_choice(match, path, "matchPolicy", supported=("Exact", "Equivalent"))
    for field in ("namespaceSelector", "objectSelector"):
        yield from check_label_selector(match.get(field), path / field)
    for field in ("resourceRules", "excludeResourceRules"):
        for rule, at in each(match, path, field):
            yield from check_resource_rule(rule, at)
            yield from _check_names(texts(rule, "resourceNames"), at / "resourceNames")


def _check_names(given: list[str], path: FieldPath) -> Problems:
    """Validates resource names. A policy, unlike a webhook, may match only some objects."""
    seen: set[str] = set()
    for index, name in enumerate(given):
        yield from check_rule(name, path / index, names.validate_path_segment)
        if name in seen:
            yield duplicate(path / index, name)
        seen.add(name)
