"""Which rules a definition may have: they compile against its types, and cannot cost too much."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.field_errors import FieldPath
from probate.api.structural.schema_check import check
from support.cel_rule_kind import rule

INTEGER, TEXT = {"type": "integer"}, {"type": "string"}
SHORT = {"type": "string", "maxLength": 10}
ADVICE = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"


def problems(spec: dict[str, Any]) -> list[tuple[str, str]]:
    found = check({"type": "object", "properties": {"spec": spec}}, FieldPath("s"))
    return [(one.field.removeprefix("s.properties[spec]."), one.message) for one in found]


def array(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def object_of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


RULE = "x-kubernetes-validations[0].rule"
MISTAKES: list[tuple[dict[str, Any], str, str]] = [
    (object_of(a=INTEGER), "self.nope == 1", "<input>:1:5: undefined field 'nope'"),
    (object_of(a=INTEGER), "self.a == 'x'", "found no matching overload for '_==_' applied to '(int, string)'"),
    (object_of(a=array(INTEGER)), "self.a.all(x, x.y)", "type 'int' does not support field selection"),
    (object_of(a=INTEGER), "self.a", "cel expression must evaluate to a bool"),
    (object_of(a=INTEGER), "self.a == 1 &&", "Syntax error: mismatched input '<EOF>'"),
    (object_of(a=INTEGER), "object.a == 1", "undeclared reference to 'object'"),
    (object_of(a={"x-kubernetes-preserve-unknown-fields": True}), "self.a == 1", "undefined field 'a'"),
    (object_of(a={"type": "object", "x-kubernetes-preserve-unknown-fields": True}), "self.a.b == 1", "undefined field 'b'"),
    (object_of(a={"type": "string", "format": "date-time"}), "self.a == '2024'", "applied to '(timestamp, string)'"),
    (object_of(a={"type": "number"}), "self.a == 1", "applied to '(double, int)'"),
]


@pytest.mark.parametrize(("spec", "text", "wanted"), MISTAKES, ids=[text for _, text, _ in MISTAKES])
def test_rule_that_does_not_fit_its_schema(spec: dict[str, Any], text: str, wanted: str) -> None:
    ((field, message),) = problems({**spec, **rule(text)})
    assert field == RULE
    assert message.startswith('Invalid value: {"rule":')
    assert wanted in message


FINE = [
    (object_of(a={"x-kubernetes-int-or-string": True}), "type(self.a) == int ? self.a > 1 : self.a == 'x'"),
    (
        object_of(a={"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"x": INTEGER}}),
        "self.a.metadata.name == 'x' && self.a.kind != ''",
    ),
    (object_of(a={**SHORT, "nullable": True}), "!has(self.a) || self.a != ''"),
    (object_of(**{"a.b": INTEGER, "namespace": INTEGER}), "self.a__dot__b == self.__namespace__"),
    ({"type": "object", "additionalProperties": SHORT, "maxProperties": 9}, "self.all(k, v, k != v) && 'x' in self"),
    (SHORT, "self.matches('^[a-z]+$')"),
    (array(SHORT, maxItems=20), "self.all(x, self.exists_one(y, x == y))"),
]


@pytest.mark.parametrize(("spec", "text"), FINE, ids=[text for _, text in FINE])
def test_rule_that_fits(spec: dict[str, Any], text: str) -> None:
    assert problems({**spec, **rule(text)}) == []


def test_message_expression_has_to_be_a_text() -> None:
    ((field, message),) = problems({**object_of(a=INTEGER), **rule("self.a > 0", messageExpression="self.a")})
    assert field == "x-kubernetes-validations[0].messageExpression"
    assert "must evaluate to a string" in message
    ((_, message),) = problems({**object_of(a=INTEGER), **rule("self.a > 0", messageExpression="self.b")})
    assert "undefined field 'b'" in message


def test_field_path_has_to_lead_to_a_field() -> None:
    ((field, message),) = problems({**object_of(a=INTEGER), **rule("self.a > 0", fieldPath=".b")})
    assert (field, message) == (
        "x-kubernetes-validations[0].fieldPath",
        'Invalid value: ".b": fieldPath must be a valid path: does not refer to a valid field',
    )
    assert problems({**object_of(a=INTEGER), **rule("self.a > 0", fieldPath=".a")}) == []


@pytest.mark.parametrize("kind", ["atomic", "set"])
def test_old_self_is_refused_where_items_are_not_correlated(kind: str) -> None:
    ruled = array({**SHORT, **rule("self == oldSelf")}, maxItems=5, **{"x-kubernetes-list-type": kind})
    ((field, message),) = problems(object_of(a=ruled))
    assert field == "properties[a].items.x-kubernetes-validations[0].rule"
    assert "oldSelf cannot be used on the uncorrelatable portion of the schema within s.properties[spec].properties[a]" in message


@pytest.mark.parametrize("kind", ["atomic", "granular"])
@pytest.mark.parametrize("word", ["properties", "additionalProperties"])
def test_old_value_below_an_atomic_map_is_not_available(kind: str, word: str) -> None:
    ruled = {**SHORT, **rule("self == oldSelf")}
    held = {"properties": {"b": ruled}} if word == "properties" else {"additionalProperties": ruled, "maxProperties": 5}
    found = [field for field, _ in problems(object_of(a={"type": "object", "x-kubernetes-map-type": kind, **held}))]
    at = "properties[b]" if word == "properties" else "additionalProperties"
    assert found == ([f"properties[a].{at}.x-kubernetes-validations[0].rule"] if kind == "atomic" else [])


def test_optional_old_self_requires_a_rule_that_uses_it() -> None:
    ((field, _),) = problems({**object_of(a=INTEGER), **rule("self.a > 0", optionalOldSelf=True)})
    assert field == "x-kubernetes-validations[0].optionalOldSelf"


def test_rule_without_bounds_costs_too_much() -> None:
    spec = object_of(a=array(TEXT))
    found = problems({**spec, **rule("self.a.all(x, self.a.exists(y, x.contains(y)))")})
    assert found[0] == (RULE, f"Forbidden: estimated rule cost exceeds budget by factor of more than 100x {ADVICE}")
    whole = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget"
    assert ("s", f"Forbidden: {whole} by factor of more than 100x {ADVICE}") in found


def test_estimate_is_that_of_kubernetes() -> None:
    """Twenty items, two texts of 4096 characters: measured on a real API server, it is over by a factor of 5.4."""
    item = object_of(a={"type": "string", "maxLength": 4096}, b={"type": "string", "maxLength": 4096})
    ruled = object_of(list=array({**item, **rule("!self.a.contains(self.b)")}, maxItems=20))
    assert problems(ruled) == [
        ("properties[list].items." + RULE, f"Forbidden: estimated rule cost exceeds budget by factor of 5.4x {ADVICE}")
    ]
    smaller = object_of(a={"type": "string", "maxLength": 1024}, b={"type": "string", "maxLength": 1024})
    assert problems(object_of(list=array({**smaller, **rule("!self.a.contains(self.b)")}, maxItems=20))) == []


def test_many_expensive_rules_exceed_the_total_cost_limit() -> None:
    rules = {"x-kubernetes-validations": [{"rule": "self.a.all(x, self.a.all(y, x != y))"}] * 20}
    found = problems({**object_of(a=array(INTEGER, maxItems=1000)), **rules})
    assert any("cost total for entire OpenAPIv3 schema exceeds budget" in message for _, message in found)


def test_too_many_rules_are_refused() -> None:
    found = problems({**object_of(a=INTEGER), "x-kubernetes-validations": [{"rule": "self.a > 0"}] * 501})
    assert [message for _, message in found] == ["Forbidden: must have at most 500 x-kubernetes-validations"]


def test_default_that_breaks_a_rule_is_refused() -> None:
    inner = {**object_of(a=INTEGER), "default": {"a": 0}, **rule("self.a > 0")}
    assert problems(object_of(x=inner)) == [("properties[x].default", 'Invalid value: "object": failed rule: self.a > 0')]
    number = {**INTEGER, **rule("self > 0"), "default": 0}
    assert problems(object_of(x=number)) == [("properties[x].default", 'Invalid value: "integer": failed rule: self > 0')]
    assert problems(object_of(x={**number, "default": 1})) == []
