"""Reports all errors of an openAPIV3Schema: keywords, structure, defaults, rules.

    check({"type": "object", "properties": {"a": {}}}, Path("spec.validation.openAPIV3Schema"))
    [Problem("FieldValueRequired", "spec.validation.openAPIV3Schema.properties[a].type", ...)]

Defaults are checked only if the schema is structural, because only then their meaning is defined; rules are checked only if nothing
else is wrong.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from probate.api.field_errors import FieldError, FieldPath, invalid, limit_field_errors
from probate.api.schema.node import UNSET, Schema
from probate.api.structural import embedded_resources
from probate.api.structural.keywords import is_readable, keyword_problems
from probate.api.structural.parse import parse_root
from probate.api.structural.prune import prune
from probate.api.structural.rules import evaluation
from probate.api.structural.rules.rule_check import rule_problems
from probate.api.structural.structure import structure_problems
from probate.api.structural.validate import below, validate_at


def check(written: dict[str, Any], path: FieldPath) -> list[FieldError]:
    """Returns all problems of the schema at `path`. Without any, it is structural, well-formed, and its defaults are valid."""
    keyword_errors = keyword_problems(written, path)
    if not is_readable(written):
        return keyword_errors or [invalid(path, "", "OpenAPIV3Schema 'schema' is not supported")]
    structure = structure_problems(written, path)
    found = [*(structure or limit_field_errors(_check_defaults(parse_root(written), path))), *keyword_errors]
    return found or _check_rules(parse_root(written), path)


def _check_rules(schema: Schema, path: FieldPath) -> list[FieldError]:
    return limit_field_errors(rule_problems(schema, path)) or limit_field_errors(_check_defaults_by_rules(schema, path))


def _check_defaults_by_rules(schema: Schema, path: FieldPath) -> Iterator[FieldError]:
    """Validates the defaults against the rules, after all rules proved to be valid."""
    if schema.default is not UNSET:
        broken_rules = evaluation.broken_rules(schema.default, schema, is_root=False)
        yield from (one._replace(field=below(path / "default", one.field)) for one in broken_rules)
    if schema.items is not None:
        yield from _check_defaults_by_rules(schema.items, path / "items")
    for name, one in schema.properties.items():
        yield from _check_defaults_by_rules(one, path / "properties" @ name)


def is_structural(written: Any) -> bool:
    """Returns whether an existing schema is structural."""
    return is_readable(written) and not structure_problems(written, FieldPath())


def _check_defaults(schema: Schema, path: FieldPath) -> Iterator[FieldError]:
    if schema.default is not UNSET:
        yield from _check_default(schema, path / "default")
    if schema.items is not None:
        yield from _check_defaults(schema.items, path / "items")
    for name, one in schema.properties.items():
        yield from _check_defaults(one, path / "properties" @ name)


def _check_default(schema: Schema, path: FieldPath) -> Iterator[FieldError]:
    if prune(copy.deepcopy(schema.default), schema):
        yield invalid(path, schema.default, "must not have unknown fields")
    yield from embedded_resources.problems_at(path, schema.default, schema)
    yield from validate_at(path, schema.default, schema)
