"""CEL itself: what expressions evaluate to, what has no value, and what is no expression. (Functions: test_cel_library.)"""

from __future__ import annotations

import math
from typing import Any

import pytest

from probate.lib.cel.errors import CompileError
from support.cel_expressions import cost, failure, mistake, value

SELF = {
    "a": 1,
    "l": [3, 1, 2],
    "s": "héllo",
    "n": None,
    "m": {"x": 1},
    "o": [{"k": "p", "v": 1}, {"k": "q", "v": 2}],
    "f": 1.5,
    "t": True,
}

VALUES: list[tuple[str, Any]] = [
    # literals
    ("0x1F", 31),
    ("-9223372036854775808", -(1 << 63)),
    ("18446744073709551615u", (1 << 64) - 1),
    ("1e3", 1000.0),
    (".5", 0.5),
    (r"'a\n\t\'\u00e9\U0001F600\x41\101'", "a\n\t'é\U0001f600AA"),
    (r"r'a\n'", r"a\n"),
    ("'''a'b\n'''", "a'b\n"),
    (r"b'\xff\101é'", b"\xffA\xc3\xa9"),
    ("1 // a comment", 1),
    ("{'a': [1, 2]}", {"a": [1, 2]}),
    # arithmetic
    ("7 / 2", 3),
    ("-7 / 2", -3),
    ("-7 % 2", -1),
    ("7u - 2u", 5),
    ("1.0 / 0.0", math.inf),
    ("2 + 3 * 4 - 5", 9),
    ("(2 + 3) * 4", 20),
    ("- -1", 1),
    ("!!true", True),
    ("'a' + 'b'", "ab"),
    ("[1] + [2]", [1, 2]),
    # comparison and equality
    ("1 < 2u && 2u < 2.5 && 1.0 <= 1", True),
    ("dyn(1) == 1u && dyn(1) == 1.0 && dyn(1) != '1'", True),
    ("dyn(true) == 1", False),
    ("dyn(0.0) == dyn(-0.0)", True),
    ("double('NaN') == double('NaN')", False),
    ("double('NaN') <= 1.0 || double('NaN') >= 1.0", False),
    ("[1, 2] == [1, 2] && {'a': [1]} == {'a': [1]}", True),
    ("dyn([1, 2]) == [1.0, 2.0]", True),
    ("dyn({1: 'a'}) == {1u: 'a'}", True),
    ("self.n == null", True),
    ("'a' < 'b' && b'a' < b'b' && false < true", True),
    ("'é' < '\U0001f600'", True),
    ("timestamp('2024-01-01T00:00:00Z') < timestamp('2024-01-01T00:00:00.1Z')", True),
    # membership, index, fields
    ("2 in [1, 2]", True),
    ("dyn(2.0) in [1, 2]", True),
    ("'x' in self.m", True),
    ("self.l[1]", 1),
    ("self.m['x']", 1),
    ("{true: 'a'}[true]", "a"),
    ("{1: 'a'}[dyn(1.0)]", "a"),
    ("{true: 1}.map(k, k)", [True]),
    ("size({dyn(true): 1, dyn(1): 2}) + size({dyn(false): 1, dyn(0.0): 2})", 4),
    ("dyn(true) in {dyn(1): 2}", False),
    ("has(self.a) && !has(self.z) && has(self.n)", True),
    ("self.`a`", 1),
    ("self.o[1].k", "q"),
    # logic
    ("true || self.z", True),
    ("self.z || true", True),
    ("false && self.z", False),
    ("self.z && false", False),
    ("1 / 0 > 0 || true", True),
    ("true ? 1 : 1 / 0", 1),
    ("true || false && false", True),
    # macros
    ("self.l.all(x, x > 0)", True),
    ("[].all(x, false)", True),
    ("self.l.exists(x, x == 2)", True),
    ("[1, 0].exists(x, 1 / x > 0)", True),
    ("[0, 1].exists(x, 1 / x > 0)", True),
    ("[0, 1].all(x, 1 / x < 0)", False),
    ("self.l.exists_one(x, x > 2)", True),
    ("self.l.map(x, x * 2)", [6, 2, 4]),
    ("self.l.map(x, x > 1, x * 2)", [6, 4]),
    ("self.l.filter(x, x > 1)", [3, 2]),
    ("self.m.all(k, k == 'x')", True),
    ("self.m.map(k, self.m[k])", [1]),
    ("self.l.all(i, v, i < 3 && v > 0)", True),
    ("self.m.exists(k, v, k == 'x' && v == 1)", True),
    ("self.m.existsOne(k, v, v == 1)", True),
    ("self.l.transformList(i, v, i * v)", [0, 1, 4]),
    ("self.l.transformList(i, v, v > 1, v)", [3, 2]),
    ("self.m.transformMap(k, v, v + 1)", {"x": 2}),
    ("self.m.transformMapEntry(k, v, {v: k})", {1: "x"}),
    ("[[1, 2], [3]].map(x, x.map(y, y + size(x)))", [[3, 4], [4]]),
    ("[1, 2].map(x, [10, 20].map(y, x + y))", [[11, 21], [12, 22]]),
    ("[1].map(x, [2].map(x, x) + [x])", [[2, 1]]),
    ("cel.bind(x, 2, cel.bind(y, x * x, x + y))", 6),
    # optionals
    ("self.?a.orValue(5)", 1),
    ("self.?z.orValue(5)", 5),
    ("self.?m.x.orValue(5)", 1),
    ("self.?z.y.hasValue()", False),
    ("self.l[?0].value()", 3),
    ("self.l[?9].orValue(7)", 7),
    ("self.m[?'x'].or(optional.of(9)).value()", 1),
    ("optional.none().or(optional.of(9)).value()", 9),
    ("optional.of(1).orValue(1 / 0)", 1),
    ("optional.of(2).optMap(x, x * 2).value()", 4),
    ("optional.none().optMap(x, x).hasValue()", False),
    ("optional.of(2).optFlatMap(x, optional.of(x + 1)).value()", 3),
    ("optional.ofNonZeroValue('').hasValue() || optional.ofNonZeroValue(0).hasValue()", False),
    ("[1, ?optional.none(), ?optional.of(2)]", [1, 2]),
    ("{?'a': optional.none(), ?'b': optional.of(1)}", {"b": 1}),
    ("optional.of(1) == optional.of(1) && optional.of(1) != optional.none()", True),
    # types
    ("type(1) == int && type(1u) == uint && type('') == string && type([]) == list", True),
    ("type(self) == map && type(null) == null_type && type(type(1)) == type", True),
    ("type(timestamp(0)) == google.protobuf.Timestamp", True),
    ("type(dyn(1)) == int", True),
]


@pytest.mark.parametrize(("source", "wanted"), VALUES, ids=[source for source, _ in VALUES])
def test_value(source: str, wanted: Any) -> None:
    found = value(source, SELF)
    assert found == wanted
    assert isinstance(found, bool) == isinstance(wanted, bool)


FAILURES = [
    ("9223372036854775807 + 1", "integer overflow"),
    ("-9223372036854775808 - 1", "integer overflow"),
    ("-(-9223372036854775808)", "integer overflow"),
    ("9223372036854775807 * 2", "integer overflow"),
    ("-9223372036854775808 / -1", "integer overflow"),
    ("0u - 1u", "unsigned integer overflow"),
    ("1 / 0", "division by zero"),
    ("1 % 0", "modulus by zero"),
    ("self.z", "no such key: z"),
    ("self.m['z']", "no such key: z"),
    ("self.l[3]", "index out of bounds: 3"),
    ("self.l[-1]", "index out of bounds: -1"),
    ("self.a.b", "no such overload: int.b"),
    ("self.a + 'x'", "no such overload: _+_"),
    ("self.z || false", "no such key: z"),
    ("true && self.z", "no such key: z"),
    ("self.a || false", "no such overload: _||_"),
    ("self.a ? 1 : 2", "no such overload: _?_:_"),
    ("self.l.all(x, x)", "no such overload: _&&_"),
    ("[0, 1].all(x, 1 / x > 0)", "division by zero"),
    ("self.a.all(x, true)", "no such overload: comprehension range"),
    ("self.l.exists_one(x, 1 / (x - 1) > 0)", "division by zero"),
    ("{dyn('a'): 1, 'a': 2}", "Failed with repeated key"),
    ("{dyn([1]): 1}", "unsupported key type: list"),
    ("optional.none().value()", "optional.none() dereference"),
    ("timestamp('9999-12-31T23:59:59Z') + duration('1h')", "timestamp overflow"),
    ("duration('2562047h') + duration('1h')", "duration overflow"),
]


@pytest.mark.parametrize(("source", "wanted"), FAILURES, ids=[source for source, _ in FAILURES])
def test_no_value(source: str, wanted: str) -> None:
    assert failure(source, SELF) == wanted


MISTAKES = [
    ("", "Syntax error: mismatched input '<EOF>'"),
    ("1 +", "Syntax error: mismatched input '<EOF>'"),
    ("1 2", "Syntax error: mismatched input '2'"),
    ("a b", "Syntax error: mismatched input 'b'"),
    ("[1, 2", "Syntax error: mismatched input '<EOF>'"),
    ("'abc", "Syntax error: token recognition error at: ''abc'"),
    ("#", "Syntax error: token recognition error at: '#'"),
    (r"'\q'", r"invalid escape sequence: \q"),
    (r"'\ud800'", r"invalid escape sequence: \ud800"),
    ("9223372036854775808", "invalid int literal"),
    ("18446744073709551616u", "invalid uint literal"),
    ("for", "reserved identifier: for"),
    ("has(self)", "invalid argument to has() macro"),
    ("[1].all(1, true)", "argument must be a simple name"),
    ("[1].all(x, x, true)", "duplicate variable name: x"),
    ("nobody", "undeclared reference to 'nobody' (in container '')"),
    ("nobody(1)", "undeclared reference to 'nobody' (in container '')"),
    ("'a'.size('b')", "found no matching overload for 'size' applied to 'string.(string)'"),
    ("1 + 'a'", "found no matching overload for '_+_' applied to '(int, string)'"),
    ("1 == 'a'", "found no matching overload for '_==_' applied to '(int, string)'"),
    ("1 == null", "found no matching overload for '_==_' applied to '(int, null)'"),
    ("1 && true", "expected type 'bool' but found 'int' in '_&&_'"),
    ("true ? 1 : 'a'", "found no matching overload for '_?_:_' applied to '(bool, int, string)'"),
    ("[1, 'a']", "expected type 'int' but found 'string'"),
    ("1.all(x, true)", "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)"),
    ("[1].all(x, x)", "expected type 'bool' but found 'int'"),
    ("[1].exists(x, x.foo)", "type 'int' does not support field selection"),
    ("x && y", "undeclared reference to 'x' (in container ''); undeclared reference to 'y' (in container '')"),
    ("Foo{a: 1}", "undeclared reference to 'Foo' (in container '')"),
    ("[1].all(x, true) && x", "undeclared reference to 'x' (in container '')"),
]


@pytest.mark.parametrize(("source", "wanted"), MISTAKES, ids=[source for source, _ in MISTAKES])
def test_no_expression(source: str, wanted: str) -> None:
    assert mistake(source) == wanted


def test_mistake_shows_its_line() -> None:
    with pytest.raises(CompileError) as caught:
        value("true &&\n  nobody")
    assert str(caught.value) == ("ERROR: <input>:2:3: undeclared reference to 'nobody' (in container '')\n |   nobody\n | ..^")


def test_cost_is_counted_as_kubernetes_counts_it() -> None:
    assert cost("1 + 2") == 1
    assert cost("self.a == 1", SELF) == 3
    assert cost("[1, 2]") == 10
    assert cost("{'a': 1}") == 30
    assert cost("'" + "a" * 100 + "' == '" + "a" * 100 + "'") == 10
    assert cost("self.contains('abc')", "x" * 200) == 21
    assert cost("self.all(x, x > 0)", [1] * 10) == 2 + 10 * (3 + 2)
    assert cost("false && self.all(x, x > 0)", [1] * 10) == 0
