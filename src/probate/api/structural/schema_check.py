"""All that is wrong with an openAPIV3Schema: its words, its structure, its defaults, its rules.

    check({"type": "object", "properties": {"a": {}}}, Path("spec.validation.openAPIV3Schema"))
    [Problem("FieldValueRequired", "spec.validation.openAPIV3Schema.properties[a].type", ...)]

Defaults are looked at only in a schema that is structural, since only there is it known what a default means, and rules only in
one with nothing else wrong.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from probate.api.field_errors import Path, Problem, first, invalid
from probate.api.schema.node import UNSET, Schema
from probate.api.structural import embedded_resources
from probate.api.structural.keywords import is_readable, keyword_problems
from probate.api.structural.parse import parse_root
from probate.api.structural.prune import prune
from probate.api.structural.rules import evaluation
from probate.api.structural.rules.rule_check import rule_problems
from probate.api.structural.structure import structure_problems
from probate.api.structural.validate import below, validate_at


def check(written: dict[str, Any], path: Path) -> list[Problem]:
    """Every problem of the schema that stands at `path`. None: it is structural, well-formed, and its defaults are right."""
    words = keyword_problems(written, path)
    if not is_readable(written):
        return words or [invalid(path, "", "OpenAPIV3Schema 'schema' is not supported")]
    structure = structure_problems(written, path)
    found = [*(structure or first(_check_defaults(parse_root(written), path))), *words]
    return found or _check_rules(parse_root(written), path)


def _check_rules(schema: Schema, path: Path) -> list[Problem]:
    return first(rule_problems(schema, path)) or first(_check_ruled_defaults(schema, path))


def _check_ruled_defaults(schema: Schema, path: Path) -> Iterator[Problem]:
    """Defaults are held against the rules too, once all rules are known to be right."""
    if schema.default is not UNSET:
        broken = evaluation.broken_rules(schema.default, schema, is_root=False)
        yield from (one._replace(field=below(path / "default", one.field)) for one in broken)
    if schema.items is not None:
        yield from _check_ruled_defaults(schema.items, path / "items")
    for name, one in schema.properties.items():
        yield from _check_ruled_defaults(one, path / "properties" @ name)


def is_structural(written: Any) -> bool:
    """Whether a schema that is there already is structural."""
    return is_readable(written) and not structure_problems(written, Path())


def _check_defaults(schema: Schema, path: Path) -> Iterator[Problem]:
    if schema.default is not UNSET:
        yield from _check_default(schema, path / "default")
    if schema.items is not None:
        yield from _check_defaults(schema.items, path / "items")
    for name, one in schema.properties.items():
        yield from _check_defaults(one, path / "properties" @ name)


def _check_default(schema: Schema, path: Path) -> Iterator[Problem]:
    if prune(copy.deepcopy(schema.default), schema):
        yield invalid(path, schema.default, "must not have unknown fields")
    yield from embedded_resources.problems_at(path, schema.default, schema)
    yield from validate_at(path, schema.default, schema)
