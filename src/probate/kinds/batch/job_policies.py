"""Validates the failure, replacement and success policies of a Job, and the limits of indexed Jobs."""

from __future__ import annotations

from typing import Any

from probate.api import names
from probate.api.field_errors import FieldPath, duplicate, invalid, required, too_long, too_many
from probate.kinds.batch import index_sets
from probate.kinds.shared.field_checks import (
    Problems,
    Value,
    check_choice,
    check_nonnegative,
    check_rule,
    child,
    each,
    items,
    objects,
    text,
)

MAX_INDEXED = 100_000
"""The maximum parallelism and number of failed indexes of an indexed Job, and of completions without further limits."""

_MAX_WITH_MANY = 10_000  # the same, for a Job with more completions than that
_MAX_RULES = 20
_MAX_CODES = 255
_MAX_INDEXES_BYTES = 64 * 1024
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_STATUSES = ("False", "True", "Unknown")


def check_index_limits(spec: Value, path: FieldPath) -> Problems:
    """Validates the limits of an indexed Job."""
    completions, failures = spec.get("completions"), spec.get("maxFailedIndexes")
    if completions is None:
        yield required(path / "completions", "when completion mode is Indexed")
    yield from _check_at_most(spec, path, "parallelism", limit=MAX_INDEXED)
    yield from _check_at_most(spec, path, "maxFailedIndexes", limit=MAX_INDEXED)
    if completions is None:
        return
    if failures is not None and failures > completions:
        yield invalid(path / "maxFailedIndexes", failures, "must be less than or equal to completions")
    if completions > MAX_INDEXED and spec.get("backoffLimitPerIndex") is not None:
        if failures is None:
            yield required(path / "maxFailedIndexes", f"must be specified when completions is above {MAX_INDEXED}")
        yield from _check_at_most(spec, path, "parallelism", limit=_MAX_WITH_MANY)
        yield from _check_at_most(spec, path, "maxFailedIndexes", limit=_MAX_WITH_MANY)


def check_failure_policy(spec: Value, path: FieldPath) -> Problems:
    """Validates `podFailurePolicy`: what happens to the Job when a pod fails in a particular way."""
    policy, path = child(spec, "podFailurePolicy"), path / "podFailurePolicy"
    if len(items(policy, "rules")) > _MAX_RULES:
        yield too_many(path / "rules", len(policy["rules"]), _MAX_RULES)
    pod = child(child(spec, "template"), "spec")
    containers = {text(one, "name") for field in ("containers", "initContainers") for one in objects(pod, field)}
    for rule, at in each(policy, path, "rules"):
        yield from _check_action(rule, at, has_limit=spec.get("backoffLimitPerIndex") is not None)
        yield from _check_cause(rule, at)
        if rule.get("onExitCodes") is not None:
            yield from _check_exit_codes(rule["onExitCodes"], at / "onExitCodes", containers)
        yield from _check_pod_conditions(rule, at)


def check_replacement_policy(spec: Value, path: FieldPath) -> Problems:
    """Validates `podReplacementPolicy`: with a pod failure policy, pods are replaced only after they have failed."""
    policies = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
    yield from check_choice(spec, path, "podReplacementPolicy", supported=policies)


def check_success_policy(spec: Value, path: FieldPath) -> Problems:
    """Validates `successPolicy`: which indexes, or how many, are enough."""
    policy, path = child(spec, "successPolicy"), path / "successPolicy"
    if text(spec, "completionMode") != "Indexed":
        yield invalid(path, policy, "requires indexed completion mode")
        return
    if not items(policy, "rules"):
        yield required(path / "rules", "at least one rule must be specified")
    elif len(policy["rules"]) > _MAX_RULES:
        yield too_many(path / "rules", len(policy["rules"]), _MAX_RULES)
    for rule, at in each(policy, path, "rules"):
        if spec.get("completions") is not None:
            yield from _check_success(rule, at, spec["completions"])


def _check_at_most(spec: Value, path: FieldPath, field: str, *, limit: int) -> Problems:
    if (spec.get(field) or 0) > limit:
        yield invalid(path / field, spec[field], f"must be less than or equal to {limit}")


def _check_action(rule: Value, path: FieldPath, *, has_limit: bool) -> Problems:
    yield from check_choice(rule, path, "action", supported=_ACTIONS, is_required=True)
    if text(rule, "action") == "FailIndex" and not has_limit:
        yield invalid(path / "action", "FailIndex", "requires the backoffLimitPerIndex to be set")


def _check_cause(rule: Value, path: FieldPath) -> Problems:
    by_code, by_condition = rule.get("onExitCodes") is not None, bool(rule.get("onPodConditions"))
    if by_code and by_condition:
        yield invalid(path, rule, "specifying both OnExitCodes and OnPodConditions is not supported")
    elif not by_code and not by_condition:
        yield invalid(path, rule, "specifying one of OnExitCodes and OnPodConditions is required")


def _check_exit_codes(codes: Value, path: FieldPath, containers: set[str]) -> Problems:
    yield from check_choice(codes, path, "operator", supported=("In", "NotIn"), is_required=True)
    container = codes.get("containerName")
    if container is not None and container not in containers:
        yield invalid(path / "containerName", container, "must be one of the container or initContainer names in the pod template")
    values = [value or 0 for value in items(codes, "values")]
    if not values:
        yield invalid(path / "values", [], "at least one value is required")
    elif len(values) > _MAX_CODES:
        yield too_many(path / "values", len(values), _MAX_CODES)
    if values != sorted(values):
        yield invalid(path / "values", values, "must be ordered")
    yield from _check_codes(values, path / "values", is_zero_allowed=text(codes, "operator") != "In")


def _check_codes(values: list[int], path: FieldPath, *, is_zero_allowed: bool) -> Problems:
    seen: set[Any] = set()
    for index, value in enumerate(values):
        if value == 0 and not is_zero_allowed:
            yield invalid(path / index, value, "must not be 0 for the In operator")
        if value in seen:
            yield duplicate(path / index, value)
        seen.add(value)


def _check_pod_conditions(rule: Value, path: FieldPath) -> Problems:
    if len(items(rule, "onPodConditions")) > _MAX_RULES:
        yield too_many(path / "onPodConditions", len(rule["onPodConditions"]), _MAX_RULES)
    for pattern, at in each(rule, path, "onPodConditions"):
        yield from check_rule(text(pattern, "type"), at / "type", names.validate_qualified_name)
        yield from check_choice(pattern, at, "status", supported=_STATUSES, is_required=True)


def _check_success(rule: Value, path: FieldPath, completions: int) -> Problems:
    indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
    if indexes is None and count is None:
        yield required(path, "at least one of succeededCount or succeededIndexes must be specified")
    enough = completions
    if indexes is not None:
        if len(indexes.encode()) > _MAX_INDEXES_BYTES:
            yield too_long(path / "succeededIndexes", _MAX_INDEXES_BYTES)
        enough = 0
        try:
            enough = index_sets.count_indexes(indexes, completions)
        except index_sets.InvalidIndexes as error:
            yield invalid(path / "succeededIndexes", indexes, str(error))
    yield from check_nonnegative(rule, path, "succeededCount")
    if count is not None and count > min(enough, completions):
        yield invalid(path / "succeededCount", count, f"must be less than or equal to {min(enough, completions)}")
