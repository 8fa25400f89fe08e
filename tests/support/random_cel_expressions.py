"""Hypothesis strategies for CEL expressions of all kinds, valid and invalid."""

from __future__ import annotations

from hypothesis import strategies as st

from probate.api.cel.library import STANDARD

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
