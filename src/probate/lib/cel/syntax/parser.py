"""The parser: converts the source of an expression into a tree.

The parser recurses one level for each pair of parentheses or brackets, and climbs operators by precedence. Therefore neither the
depth nor the length of client input can exhaust the stack: input that nests deeper than `MAX_DEPTH` is rejected.
"""

from __future__ import annotations

from probate.core import work_limits
from probate.lib.cel.errors import CompileError, Issue
from probate.lib.cel.numbers import MAX_INT, MAX_UINT, Uint
from probate.lib.cel.syntax import macros
from probate.lib.cel.syntax.lexer import RESERVED, Token
from probate.lib.cel.syntax.lexer import tokens as tokenize_source
from probate.lib.cel.syntax.tree import Call, Conditional, Ident, ListOf, Literal, Logic, MapOf, Node, Select, Struct, depth

MAX_DEPTH = 60
"""Maximum nesting of parentheses, brackets, calls and conditionals."""
MAX_CHAIN = 120
"""Maximum number of consecutive operators of one precedence (except && and ||), and of chained field accesses."""
MAX_LEVELS = 150
"""Maximum depth of the whole tree: functions that walk the tree recurse once per level."""
RANKS = {"||": 1, "&&": 2, **dict.fromkeys(("<", "<=", ">", ">=", "==", "!=", "in"), 3), "+": 4, "-": 4, "*": 5, "/": 5, "%": 5}
_UNARY = {"!": "!_", "-": "-_"}


def parse(source: str) -> Node:
    """Parses an expression. Raises `CompileError`."""
    tokens = tokenize_source(source)
    work_limits.spend(6 * len(tokens))
    reader = _Reader(source, tokens)
    node = reader.expression()
    reader.expect_end()
    if depth(node, MAX_LEVELS) > MAX_LEVELS:
        raise CompileError(source, [Issue(0, f"expression recursion limit exceeded: {MAX_LEVELS}")])
    return node


class _Reader:
    def __init__(self, source: str, tokens: list[Token]) -> None:
        self._source = source
        self._tokens = tokens
        self._index = 0
        self._depth = 0

    def expression(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(self._current, f"expression recursion limit exceeded: {MAX_DEPTH}")
        node = self._operation(1)
        if self._accept("?"):
            at = self._tokens[self._index - 1].at
            yes = self._operation(1)
            self._expect(":")
            node = Conditional(at, node, yes=yes, no=self.expression())
        self._depth -= 1
        return node

    def expect_end(self) -> None:
        if self._current.kind != "end":
            raise self._unexpected()

    @property
    def _current(self) -> Token:
        return self._tokens[self._index]

    def _operation(self, min_rank: int) -> Node:
        """Parses operators of this precedence and above; operators of one precedence are left-associative."""
        left, built, length = self._unary(), None, 0
        while self._current.kind in ("sign", "name") and RANKS.get(self._current.text, 0) >= min_rank:
            token = self._advance()
            right = self._operation(RANKS[token.text] + 1)
            length += 1
            left = built = self._combine(token, left, right, length=length, is_chain=left is built)
        return left

    def _combine(self, token: Token, left: Node, right: Node, *, length: int, is_chain: bool) -> Node:
        if token.text in ("&&", "||"):
            is_and = token.text == "&&"
            if is_chain and isinstance(left, Logic) and left.is_and == is_and:
                left.terms.append(right)
                return left
            return Logic(token.at, [left, right], is_and=is_and)
        if length > MAX_CHAIN:
            raise self._error(token, f"expression recursion limit exceeded: {MAX_CHAIN}")
        return Call(token.at, "@in" if token.text == "in" else f"_{token.text}_", [left, right])

    def _unary(self) -> Node:
        signs: list[Token] = []
        while self._current.kind == "sign" and self._current.text in _UNARY and (not signs or signs[0].text == self._current.text):
            signs.append(self._advance())
        if len(signs) > MAX_DEPTH:
            raise self._error(signs[0], f"expression recursion limit exceeded: {MAX_DEPTH}")
        is_negative = (
            len(signs) == 1 and signs[0].text == "-" and self._current.kind == "value" and type(self._current.value) in (int, float)
        )
        if is_negative:
            return self._negative(signs[0])
        node = self._member(self._primary())
        for sign in reversed(signs):
            node = Call(sign.at, _UNARY[sign.text], [node])
        return node

    def _negative(self, sign: Token) -> Node:
        """Parses a negative literal. The minimum integer has no positive counterpart, so the sign belongs to the literal."""
        token = self._advance()
        if type(token.value) is int and token.value > MAX_INT + 1:
            raise self._error(token, "invalid int literal")
        return self._member(Literal(sign.at, -token.value))

    def _member(self, node: Node) -> Node:
        length = 0
        while self._current.text in (".", "[") and self._current.kind == "sign":
            length += 1
            if length > MAX_CHAIN:
                raise self._error(self._current, f"expression recursion limit exceeded: {MAX_CHAIN}")
            token = self._advance()
            is_optional = self._accept("?")
            node = self._index_of(token, node, is_optional) if token.text == "[" else self._field_of(token, node, is_optional)
        return node

    def _index_of(self, token: Token, node: Node, is_optional: bool) -> Node:
        index = self.expression()
        self._expect("]")
        return Call(token.at, "_[?_]" if is_optional else "_[_]", [node, index])

    def _field_of(self, dot: Token, node: Node, is_optional: bool) -> Node:
        token = self._advance()
        if token.kind not in ("name", "quoted"):
            raise self._unexpected(token)
        if token.kind == "name" and not is_optional and self._accept("("):
            at = self._tokens[self._index - 1].at
            return self._macro(token.text, node, self._args(), at=at)
        if token.kind == "name" and token.text == "in":
            raise self._unexpected(token)
        return Select(dot.at, node, token.text, is_optional=is_optional)

    def _args(self) -> list[Node]:
        args: list[Node] = []
        if self._accept(")"):
            return args
        while True:
            args.append(self.expression())
            if self._accept(")"):
                return args
            self._expect(",")

    def _macro(self, name: str, target: Node | None, args: list[Node], *, at: int) -> Node:
        try:
            expanded = macros.expand(name, target, args, at=at)
        except macros.BadMacro as error:
            raise CompileError(self._source, [Issue(error.at, str(error))]) from None
        if expanded is not None:
            return expanded
        return Call(at, name, args) if target is None else Call(at, name, [target, *args], is_member=True)

    def _primary(self) -> Node:
        token = self._advance()
        if token.kind == "value":
            return self._literal(token)
        if token.kind == "name":
            return self._name(token)
        match token.text if token.kind == "sign" else "":
            case "(":
                node = self.expression()
                self._expect(")")
                return node
            case "[":
                return self._list(token)
            case "{":
                return self._map(token)
            case "." if self._current.kind == "name":
                return self._name(self._advance(), prefix=".")
            case _:
                raise self._unexpected(token)

    def _literal(self, token: Token) -> Node:
        if type(token.value) is int and token.value > MAX_INT:
            raise self._error(token, "invalid int literal")
        if type(token.value) is Uint and token.value > MAX_UINT:
            raise self._error(token, "invalid uint literal")
        return Literal(token.at, token.value)

    def _name(self, token: Token, prefix: str = "") -> Node:
        if token.text in ("true", "false", "null"):
            return Literal(token.at, {"true": True, "false": False, "null": None}[token.text])
        if token.text == "in":
            raise self._unexpected(token)
        if self._accept("("):
            return self._macro(token.text, None, self._args(), at=token.at)
        if token.text in RESERVED:
            raise self._error(token, f"reserved identifier: {token.text}")
        struct = self._struct(token)
        return struct if struct is not None else Ident(token.at, prefix + token.text)

    def _struct(self, token: Token) -> Node | None:
        """Parses `a.b.C{...}`; None if the following tokens are not a struct."""
        ahead, path = self._index, [token.text]
        while self._tokens[ahead].text == "." and self._tokens[ahead + 1].kind == "name":
            path.append(self._tokens[ahead + 1].text)
            ahead += 2
        if self._tokens[ahead].text != "{" or self._tokens[ahead].kind != "sign":
            return None
        self._index = ahead + 1
        fields, optional = self._fields()
        return Struct(token.at, ".".join(path), fields, optional=optional)

    def _fields(self) -> tuple[list[tuple[str, Node]], frozenset[int]]:
        fields: list[tuple[str, Node]] = []
        optional: set[int] = set()
        while not self._accept("}"):
            if self._accept("?"):
                optional.add(len(fields))
            token = self._advance()
            if token.kind not in ("name", "quoted"):
                raise self._unexpected(token)
            self._expect(":")
            fields.append((token.text, self.expression()))
            if not self._accept(",") and self._current.text != "}":
                raise self._unexpected()
        return fields, frozenset(optional)

    def _list(self, token: Token) -> Node:
        items: list[Node] = []
        optional: set[int] = set()
        while not self._accept("]"):
            if self._accept("?"):
                optional.add(len(items))
            items.append(self.expression())
            if not self._accept(",") and self._current.text != "]":
                raise self._unexpected()
        return ListOf(token.at, items, frozenset(optional))

    def _map(self, token: Token) -> Node:
        entries: list[tuple[Node, Node]] = []
        optional: set[int] = set()
        while not self._accept("}"):
            if self._accept("?"):
                optional.add(len(entries))
            key = self.expression()
            self._expect(":")
            entries.append((key, self.expression()))
            if not self._accept(",") and self._current.text != "}":
                raise self._unexpected()
        return MapOf(token.at, entries, frozenset(optional))

    def _advance(self) -> Token:
        token = self._current
        if token.kind != "end":
            self._index += 1
        return token

    def _accept(self, sign: str) -> bool:
        if self._current.kind == "sign" and self._current.text == sign:
            self._index += 1
            return True
        return False

    def _expect(self, sign: str) -> None:
        if not self._accept(sign):
            raise self._unexpected()

    def _unexpected(self, token: Token | None = None) -> CompileError:
        token = token or self._current
        return self._error(token, f"Syntax error: mismatched input '{token.text[:40]}'")

    def _error(self, token: Token, message: str) -> CompileError:
        return CompileError(self._source, [Issue(token.at, message)])
