"""x-kubernetes-validations: custom objects are validated by the CEL rules of their kind."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import pytest

from probate.core.aio.offload import InlineOffload
from support.cel_rule_kind import DEFINITIONS, THINGS, causes, create, define, definition, rule, thing, update
from support.in_process_server import InProcessServer, running

T = TypeVar("T")

INTEGER = {"type": "integer"}
UNMATCHED = "call arguments did not match a supported operator, function or macro signature for rule"
CUT_OFF = "no further validation rules will be run due to call cost exceeds limit for rule"
NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
)
SIZES: dict[str, Any] = {
    "type": "object",
    "properties": {"min": INTEGER, "max": INTEGER, "name": {"type": "string", "maxLength": 20}},
}


@pytest.fixture
async def server() -> AsyncIterator[InProcessServer]:
    async with running(collects=False) as made:
        yield made


async def test_satisfied_rule_accepts_and_violated_rule_rejects(server: InProcessServer) -> None:
    assert (await define(server, {**SIZES, **rule("self.min <= self.max")})).code == 201
    assert (await create(server, {"min": 1, "max": 2})).code == 201
    told = await update(server, {"min": 3, "max": 2})
    assert causes(told) == [("spec", 'Invalid value: "object": failed rule: self.min <= self.max')]
    assert (await server.request("GET", f"{THINGS}/a")).json["spec"] == {"min": 1, "max": 2}
    patch = await server.request("PATCH", f"{THINGS}/a", {"spec": {"min": 9}}, media="application/merge-patch+json")
    assert causes(patch) == causes(told)
    applied = await server.request(
        "PATCH",
        f"{THINGS}/b",
        thing({"min": 9, "max": 1}, name="b"),
        query={"fieldManager": "m"},
        media="application/apply-patch+yaml",
    )
    assert causes(applied) == causes(told)


MESSAGES: list[tuple[dict[str, Any], tuple[str, str]]] = [
    ({"message": " too small "}, ("spec", 'Invalid value: "object": too small')),
    ({"messageExpression": "'%d > %d'.format([self.min, self.max])"}, ("spec", 'Invalid value: "object": 3 > 2')),
    ({"messageExpression": "self.name", "message": "instead"}, ("spec", 'Invalid value: "object": instead')),
    ({"messageExpression": "'a\\nb'", "message": "instead"}, ("spec", 'Invalid value: "object": instead')),
    ({"messageExpression": "''"}, ("spec", 'Invalid value: "object": failed rule: self.min <= self.max')),
    ({"fieldPath": ".max", "message": "m"}, ("spec.max", 'Invalid value: "object": m')),
    ({"reason": "FieldValueRequired", "message": "m"}, ("spec", "Required value: m")),
    ({"reason": "FieldValueForbidden", "fieldPath": ".min", "message": "m"}, ("spec.min", "Forbidden: m")),
    ({"reason": "FieldValueDuplicate"}, ("spec", 'Duplicate value: "object"')),
]


@pytest.mark.parametrize(("more", "wanted"), MESSAGES, ids=[str(more) for more, _ in MESSAGES])
async def test_violated_rule_reports_its_message_reason_and_field_path(
    server: InProcessServer, more: dict[str, Any], wanted: tuple[str, str]
) -> None:
    assert (await define(server, {**SIZES, **rule("self.min <= self.max", **more)})).code == 201
    assert causes(await create(server, {"min": 3, "max": 2})) == [wanted]


async def test_evaluation_error_rejects_the_object(server: InProcessServer) -> None:
    either = {"x-kubernetes-int-or-string": True}
    properties = {**SIZES["properties"], "either": either}
    assert (
        await define(server, {**SIZES, "properties": properties, **rule("self.min / self.max > 0 && self.either + 1 > 0")})
    ).code == 201
    assert causes(await create(server, {"min": 1, "max": 0, "either": 1})) == [
        ("spec", 'Invalid value: "object": division by zero evaluating rule: self.min / self.max > 0 && self.either + 1 > 0')
    ]
    assert causes(await create(server, {"min": 1, "max": 1, "either": "a"})) == [
        ("spec", f"Invalid value: \"object\": 'no such overload: _+_': {UNMATCHED}: self.min / self.max > 0 && self.either + 1 > 0")
    ]
    assert causes(await create(server, {"min": 1})) == [
        ("spec", 'Invalid value: "object": no such key: max evaluating rule: self.min / self.max > 0 && self.either + 1 > 0')
    ]


async def test_rules_apply_at_any_schema_level(server: InProcessServer) -> None:
    item = {"type": "object", "properties": {"n": {"type": "integer", **rule("self > 0")}}}
    spec = {
        "type": "object",
        "properties": {
            "list": {"type": "array", "maxItems": 10, "items": item},
            "map": {
                "type": "object",
                "maxProperties": 10,
                "additionalProperties": {"type": "string", "maxLength": 9, **rule("self != ''")},
            },
        },
    }
    assert (
        await define(server, spec, **rule("self.metadata.name != 'a' || !has(self.spec.list) || size(self.spec.list) < 3"))
    ).code == 201
    told = await create(server, {"list": [{"n": 1}, {"n": 0}, {"n": -1}], "map": {"x": "", "y": "z"}})
    assert [field for field, _ in causes(told)] == ["<nil>", "spec.list[1].n", "spec.list[2].n", "spec.map[x]"]


async def test_values_have_the_types_that_their_schema_declares(server: InProcessServer) -> None:
    formats = {
        "when": {"type": "string", "format": "date-time"},
        "long": {"type": "string", "format": "duration"},
        "raw": {"type": "string", "format": "byte"},
        "share": {"type": "number"},
        "a-b": {"type": "string", "maxLength": 5},
        "in": {"type": "string", "maxLength": 5},
        "set": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 5}, "x-kubernetes-list-type": "set"},
    }
    wanted = [
        "self.when.getFullYear() == 2024",
        "self.long > duration('59s')",
        "self.raw == b'abc'",
        "self.share / 2.0 == 0.5",
        "self.a__dash__b == 'x' && self.`a-b` == 'x' && self.__in__ == 'y'",
        "self.set == ['b', 'a'] && self.set + ['a', 'c'] == ['a', 'b', 'c']",
    ]
    rules = {"x-kubernetes-validations": [{"rule": one} for one in wanted]}
    assert (await define(server, {"type": "object", "properties": formats, **rules})).code == 201
    spec = {"when": "2024-01-01T00:00:00Z", "long": "1m", "raw": "YWJj", "share": 1, "a-b": "x", "in": "y", "set": ["a", "b"]}
    assert (await create(server, spec)).code == 201


async def test_rules_are_not_evaluated_if_the_object_violates_its_schema(server: InProcessServer) -> None:
    assert (await define(server, {**SIZES, "required": ["min"], **rule("self.min <= self.max")})).code == 201
    assert causes(await create(server, {"max": 1})) == [
        ("spec.min", "Required value"),
        ("<nil>", f"Invalid value: null: {NOT_CHECKED}"),
    ]


async def test_transition_rule_applies_to_updates_only(server: InProcessServer) -> None:
    assert (
        await define(server, {**SIZES, "properties": {**SIZES["properties"], "min": {**INTEGER, **rule("self >= oldSelf")}}})
    ).code == 201
    assert (await create(server, {"min": 5})).code == 201
    assert causes(await update(server, {"min": 4})) == [("spec.min", 'Invalid value: "integer": failed rule: self >= oldSelf')]
    assert (await update(server, {"min": 6})).code == 200
    assert (await update(server, {})).code == 200
    assert (await update(server, {"min": 1})).code == 200  # there was nothing before


async def test_rule_with_optional_old_self_applies_to_creates_and_updates(server: InProcessServer) -> None:
    only_up = rule("oldSelf.hasValue() ? self > oldSelf.value() : self == 1", optionalOldSelf=True)
    assert (await define(server, {**SIZES, "properties": {"min": {**INTEGER, **only_up}}})).code == 201
    assert [field for field, _ in causes(await create(server, {"min": 5}))] == ["spec.min"]
    assert (await create(server, {"min": 1})).code == 201
    assert [field for field, _ in causes(await update(server, {"min": 1}))] == ["spec.min"]
    assert (await update(server, {"min": 2})).code == 200


async def test_items_of_a_map_list_are_correlated_with_their_old_values(server: InProcessServer) -> None:
    item = {"type": "object", "required": ["k"], "properties": {"k": {"type": "string", "maxLength": 9}, "v": INTEGER}}
    keyed = {"type": "array", "maxItems": 9, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    ruled = {**keyed, "items": {**item, **rule("self.v >= oldSelf.v")}}
    assert (await define(server, {"type": "object", "properties": {"list": ruled}})).code == 201
    assert (await create(server, {"list": [{"k": "a", "v": 1}, {"k": "b", "v": 5}]})).code == 201
    told = await update(server, {"list": [{"k": "b", "v": 4}, {"k": "c", "v": 0}, {"k": "a", "v": 1}]})
    assert [field for field, _ in causes(told)] == ["spec.list[0]"]


async def test_unchanged_invalid_fields_do_not_fail_an_update(server: InProcessServer) -> None:
    fields = {"min": INTEGER, "max": INTEGER}
    assert (
        await define(server, {"type": "object", "properties": {"one": {"type": "object", "properties": fields}, "x": INTEGER}})
    ).code == 201
    assert (await create(server, {"one": {"min": 2, "max": 1}})).code == 201
    stricter = {
        "type": "object",
        "properties": {"one": {"type": "object", "properties": fields, **rule("self.min <= self.max")}, "x": INTEGER},
    }
    now = (await server.request("GET", f"{DEFINITIONS}/things.example.com")).json
    assert (
        await server.request("PUT", f"{DEFINITIONS}/things.example.com", {**now, "spec": definition(stricter)["spec"]})
    ).code == 200
    assert (await update(server, {"one": {"min": 2, "max": 1}, "x": 1})).code == 200
    assert [field for field, _ in causes(await update(server, {"one": {"min": 3, "max": 1}, "x": 1}))] == ["spec.one"]


CUBE = "self.list.all(a, self.list.all(b, self.list.all(c, a + b + c >= 0)))"
SQUARE = "self.list.all(a, self.list.all(b, a + b >= 0))"


def numbers(most: int, *rules: str) -> dict[str, Any]:
    listed = {"type": "array", "maxItems": most, "items": INTEGER}
    return {"type": "object", "properties": {"list": listed}, "x-kubernetes-validations": [{"rule": one} for one in rules]}


async def test_cost_of_one_evaluation_is_limited(server: InProcessServer) -> None:
    assert (await define(server, numbers(90, CUBE, "self.list.size() < 5"))).code == 201
    told = await create(server, {"list": list(range(90))})
    detail = f"'operation cancelled: actual cost limit exceeded': {CUT_OFF}"
    assert causes(told) == [("spec", f'Invalid value: "object": {detail}: {CUBE}')]


async def test_cost_of_all_rules_is_limited(server: InProcessServer) -> None:
    """Each rule is within its cost limit, but all together are not: the last rules are not evaluated."""
    assert (await define(server, numbers(300, *[SQUARE] * 20))).code == 201
    told = await create(server, {"list": list(range(300))})
    detail = "validation failed due to running out of cost budget, no further validation rules will be run"
    assert causes(told) == [("spec", f'Invalid value: "object": {detail}')]


class _Counting(InlineOffload):
    """Runs offloaded calls inline and counts them."""

    def __init__(self) -> None:
        self.calls = 0

    async def run(self, call: Callable[[], T]) -> T:
        self.calls += 1
        return await super().run(call)


async def test_expensive_rules_are_not_evaluated_on_the_event_loop() -> None:
    """Cheap evaluations stay on the event loop. Expensive ones leave it after 1,000 units of cost and restart once on a thread."""
    offload = _Counting()
    async with running(collects=False, offload=offload) as server:
        assert (await define(server, numbers(300, SQUARE, SQUARE))).code == 201
        before = offload.calls
        assert (await create(server, {"list": list(range(6))})).code == 201  # costs 500
        assert offload.calls == before
        assert (await update(server, {"list": list(range(12))})).code == 200  # 2,000
        assert offload.calls == before + 1


async def test_existing_objects_without_a_newly_validated_field_stay_readable(server: InProcessServer) -> None:
    assert (await define(server, {**SIZES, **rule("self.min <= self.max")})).code == 201
    assert (await server.request("POST", THINGS, {**thing(None), "spec": None})).code == 201
