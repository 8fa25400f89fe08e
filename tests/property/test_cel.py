"""What holds of all expressions: they have a value or a CEL error, cost is bounded, what is written out reads the same again."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from probate.api.cel.library import STANDARD
from probate.lib.cel import cost_estimate
from probate.lib.cel.cost_meter import Meter
from probate.lib.cel.environment import Environment
from probate.lib.cel.errors import CelError, CompileError, OutOfBudget
from probate.lib.cel.programs import compile_expression
from probate.lib.cel.syntax.parser import parse
from probate.lib.cel.types import INT, STRING, Type, list_of
from support.cel_expressions import ENVIRONMENT
from support.cel_source import unparse
from support.random_cel_expressions import EXPRESSIONS

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
    limit, meter = cost_estimate.cost(made.tree, STANDARD), Meter(1 << 40)
    with suppress(CelError):
        made.evaluate([{"l": items, "s": text, "n": 3}], meter)
    assert (1 << 40) - meter.remaining <= limit
