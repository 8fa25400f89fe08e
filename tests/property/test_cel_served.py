"""Whatever expressions users write into definitions and policies: they are refused or served, and never break anything."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from support.admission_policies import REGISTRATION, binding, create_map, create_registration, mutating_policy, validating_policy
from support.cel_rule_kind import create, define, update
from support.in_process_server import running
from support.random_cel_expressions import EXPRESSIONS

INTEGER, TEXT = {"type": "integer"}, {"type": "string", "maxLength": 20}
FIELDS: dict[str, Any] = {
    "l": {"type": "array", "maxItems": 5, "items": {"type": "number"}},
    "s": TEXT,
    "n": INTEGER,
    "m": {"type": "object", "maxProperties": 5, "additionalProperties": TEXT},
    "x": {"x-kubernetes-int-or-string": True},
    "o": {"type": "object", "nullable": True, "properties": {"a": {"type": "string", "format": "date-time"}}},
}
VALUES: list[dict[str, Any]] = [
    {"l": [1, 2.5], "s": "héllo", "n": 7, "m": {"a": "1"}, "x": "a", "o": {"a": "2024-01-01T00:00:00Z"}},
    {"x": 5, "o": None, "l": []},
    {},
]


@settings(max_examples=25)
@given(EXPRESSIONS, st.booleans())
def test_any_rule_is_refused_or_served(expression: str, is_old: bool) -> None:
    asyncio.run(_rule(expression.replace("self.missing", "oldSelf") if is_old else expression))


async def _rule(expression: str) -> None:
    rule = {"rule": f"cel.bind(x, self.l, dyn({expression}) == true)", "messageExpression": f"string(dyn({expression}))"}
    async with running(collects=False) as house:
        told = await define(house, {"type": "object", "properties": FIELDS, "x-kubernetes-validations": [rule]})
        assert told.code in {201, 422}, (expression, told.body)
        for value in VALUES if told.code == 201 else ():
            answers = [await create(house, value), await update(house, value)]
            assert all(one.code < 500 for one in answers), (expression, answers)


@settings(max_examples=25)
@given(st.lists(EXPRESSIONS, min_size=3, max_size=8))
def test_any_policy_is_refused_or_served(expressions: list[str]) -> None:
    asyncio.run(_policies([one.replace("self", "object") for one in expressions]))


async def _policies(expressions: list[str]) -> None:
    async with running(collects=False) as house:
        assert (await create_registration(house, "validatingadmissionpolicybindings", binding())).code == 201
        assert (
            await create_registration(
                house, "mutatingadmissionpolicybindings", {"metadata": {"name": "b"}, "spec": {"policyName": "p"}}
            )
        ).code == 201
        for number, one in enumerate(expressions):
            made = [
                ("validatingadmissionpolicies", validating_policy(f"cel.bind(x, [object], {one})")),
                ("mutatingadmissionpolicies", mutating_policy(f"cel.bind(x, [object], dyn({one}))", is_patch=bool(number % 2))),
                ("mutatingadmissionpolicies", mutating_policy(f"cel.bind(x, 1, Object{{data: Object.data{{a: {one}}}}})")),
            ]
            for plural, policy in made:
                told = await create_registration(house, plural, policy)
                assert told.code in {201, 422}, (one, told.body)
                answer = await create_map(house, f"m{number}", data={"a": "1"})
                assert answer.code < 500, (one, answer.body)
                await house.request("DELETE", f"{REGISTRATION}/{plural}/p")
