"""What holds of all expressions: they have a value or a CEL error, cost is bounded, what is written out reads the same again."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cel_expressions import ENVIRONMENT
from probate.machinery.cel import estimate
from probate.machinery.cel.environment import Environment
from probate.machinery.cel.errors import CelError, CompileError, OutOfBudget
from probate.machinery.cel.library import STANDARD
from probate.machinery.cel.meter import Meter
from probate.machinery.cel.parser import parse
from probate.machinery.cel.programs import compile_expression
from probate.machinery.cel.types import INT, STRING, Type, list_of
from probate.machinery.cel.unparse import unparse

MEMBERS = sorted({(one.name, len(overload.params)) for one in STANDARD for overload in one.overloads if overload.is_member})
GLOBALS = sorted({(one.name, len(overload.params)) for one in STANDARD for overload in one.overloads if not overload.is_member})
CALLS = [(name, count) for name, count in GLOBALS if name[0].isalpha()]
OPERATORS = ["+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "in", "&&", "||"]
LEAVES = st.one_of(
    st.sampled_from(["self", "self.l", "self.s", "self.n", "self.m", "self.missing", "x", "null", "true", "false", "[]", "{}"]),
    st.integers(-(1 << 63), (1 << 63) - 1).map(str),
    st.integers(0, 5).map(lambda number: f"{number}u"),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(
        ["'a'", "'1h'", "'10.0.0.0/8'", "'https://e.com/'", "'1.2.3'", "'2024-01-01T00:00:00Z'", "'[a-z]+'", "b'\\xff'", "'%s %d'"]
    ),
)


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def call(function: tuple[str, int], args: list[str]) -> str:
        return f"{function[0]}({', '.join(args[: function[1]])})"

    def method(function: tuple[str, int], args: list[str]) -> str:
        return f"({args[0]}).{function[0]}({', '.join(args[1 : function[1]])})"

    args = st.lists(inner, min_size=10, max_size=10)
    return st.one_of(
        st.tuples(inner, st.sampled_from(OPERATORS), inner).map(lambda parts: f"({' '.join(parts)})"),
        st.tuples(st.sampled_from(["!", "-"]), inner).map(lambda parts: f"{parts[0]}({parts[1]})"),
        st.tuples(inner, inner, inner).map(lambda parts: f"({parts[0]} ? {parts[1]} : {parts[2]})"),
        st.tuples(inner, inner).map(lambda parts: f"({parts[0]})[{parts[1]}]"),
        st.tuples(inner, inner).map(lambda parts: f"[dyn({parts[0]}), dyn({parts[1]})]"),
        st.tuples(inner, inner).map(lambda parts: f"{{dyn({parts[0]}): {parts[1]}}}"),
        inner.map(lambda part: f"dyn({part})"),
        inner.map(lambda part: f"({part}).?a.orValue(1)"),
        st.tuples(inner, st.sampled_from(["all", "exists", "exists_one", "map", "filter"]), inner).map(
            lambda parts: f"({parts[0]}).{parts[1]}(x, {parts[2]})"
        ),
        st.tuples(inner, st.sampled_from(["transformList", "transformMap", "all"]), inner).map(
            lambda parts: f"({parts[0]}).{parts[1]}(k, x, {parts[2]})"
        ),
        st.tuples(inner, inner).map(lambda parts: f"cel.bind(x, {parts[0]}, {parts[1]})"),
        st.builds(call, st.sampled_from(CALLS), args),
        st.builds(method, st.sampled_from(MEMBERS), args),
    )


EXPRESSIONS = st.recursive(LEAVES, _larger, max_leaves=12)
VALUES: Any = {"l": [1, 2.5, "a", None, [1], True], "s": "héllo", "n": 7, "m": {"a": 1, "b": {"c": []}}}


@given(EXPRESSIONS)
def test_any_expression_has_a_value_or_a_cel_error(source: str) -> None:
    with suppress(CompileError, CelError, OutOfBudget):
        made = compile_expression(f"cel.bind(x, self.l, {source})", ENVIRONMENT)
        made.evaluate([VALUES, None], Meter(20_000))


@given(EXPRESSIONS)
def test_what_is_written_out_reads_the_same_again(source: str) -> None:
    written = unparse(parse(source))
    assert unparse(parse(written)) == written


@given(st.text(alphabet="self.abx()[]{}+-*/%<>=!&|?:,'\"\\ 0123456789u\n`", max_size=60))
def test_any_text_is_an_expression_or_refused(source: str) -> None:
    with suppress(CompileError):
        compile_expression(source, ENVIRONMENT)


TYPED = Environment({"self": Type("object", fields={"l": list_of(INT, 6), "s": STRING.sized(20), "n": INT}.get)}, STANDARD)
PARTS = st.recursive(
    st.sampled_from(["self.n", "1", "size(self.l)", "self.l[0]", "self.s.size()"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda parts: f"({' '.join(parts)})"),
        inner.map(lambda part: f"self.l.map(x, x + {part}).size()"),
        inner.map(lambda part: f"self.l.filter(x, x > {part}).size()"),
        inner.map(lambda part: f"(self.l.all(x, x > {part}) ? {part} : 2)"),
        inner.map(lambda part: f"(self.l.exists(x, self.s.contains(string({part}))) ? 1 : {part})"),
    ),
    max_leaves=5,
)


@given(PARTS, st.lists(st.integers(-9, 9), max_size=6), st.text(max_size=20))
def test_nothing_costs_more_than_estimated(source: str, items: list[int], text: str) -> None:
    made = compile_expression(source, TYPED)
    limit, meter = estimate.cost(made.tree, STANDARD), Meter(1 << 40)
    with suppress(CelError):
        made.evaluate([{"l": items, "s": text, "n": 3}], meter)
    assert (1 << 40) - meter.remaining <= limit
