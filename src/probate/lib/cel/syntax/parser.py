"""The source of an expression, read into a tree.

Reading goes down by one level for each pair of parentheses or brackets, and up the operators by their rank, so that neither depth
nor length of what somebody sends can exhaust the stack: what nests deeper than `MAX_DEPTH` is refused.
"""

from __future__ import annotations

from probate.core import work_limits
from probate.lib.cel.errors import CompileError, Issue
from probate.lib.cel.numbers import MAX_INT, MAX_UINT, Uint
from probate.lib.cel.syntax import macros
from probate.lib.cel.syntax.lexer import RESERVED, Token, tokens
from probate.lib.cel.syntax.tree import Call, Choice, Ident, ListOf, Literal, Logic, MapOf, Node, Select, Struct, depth

MAX_DEPTH = 60
"""Levels of parentheses, brackets, calls and choices."""
MAX_CHAIN = 120
"""Operators of one rank in a row (but && and ||), and fields of fields of fields."""
MAX_LEVELS = 150
"""Of the tree as a whole: whoever walks it goes down one level at a time."""
RANKS = {"||": 1, "&&": 2, **dict.fromkeys(("<", "<=", ">", ">=", "==", "!=", "in"), 3), "+": 4, "-": 4, "*": 5, "/": 5, "%": 5}
_UNARY = {"!": "!_", "-": "-_"}


def parse(source: str) -> Node:
    """The tree. Raises `CompileError`."""
    words = tokens(source)
    work_limits.spend(6 * len(words))
    reader = _Reader(source, words)
    node = reader.expression()
    reader.expect_end()
    if depth(node, MAX_LEVELS) > MAX_LEVELS:
        raise CompileError(source, [Issue(0, f"expression recursion limit exceeded: {MAX_LEVELS}")])
    return node


class _Reader:
    def __init__(self, source: str, words: list[Token]) -> None:
        self._source = source
        self._words = words
        self._index = 0
        self._depth = 0

    def expression(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(self._word, f"expression recursion limit exceeded: {MAX_DEPTH}")
        node = self._operation(1)
        if self._takes("?"):
            at = self._words[self._index - 1].at
            yes = self._operation(1)
            self._expect(":")
            node = Choice(at, node, yes, self.expression())
        self._depth -= 1
        return node

    def expect_end(self) -> None:
        if self._word.kind != "end":
            raise self._unexpected()

    @property
    def _word(self) -> Token:
        return self._words[self._index]

    def _operation(self, least: int) -> Node:
        """Operators of this rank and above, those of one rank from left to right."""
        left, made, length = self._unary(), None, 0
        while self._word.kind in ("sign", "name") and RANKS.get(self._word.text, 0) >= least:
            word = self._step()
            right = self._operation(RANKS[word.text] + 1)
            length += 1
            left = made = self._joined(word, left, right, length, is_chain=left is made)
        return left

    def _joined(self, word: Token, left: Node, right: Node, length: int, *, is_chain: bool) -> Node:
        if word.text in ("&&", "||"):
            is_and = word.text == "&&"
            if is_chain and isinstance(left, Logic) and left.is_and == is_and:
                left.terms.append(right)
                return left
            return Logic(word.at, [left, right], is_and=is_and)
        if length > MAX_CHAIN:
            raise self._error(word, f"expression recursion limit exceeded: {MAX_CHAIN}")
        return Call(word.at, "@in" if word.text == "in" else f"_{word.text}_", [left, right])

    def _unary(self) -> Node:
        signs: list[Token] = []
        while self._word.kind == "sign" and self._word.text in _UNARY and (not signs or signs[0].text == self._word.text):
            signs.append(self._step())
        if len(signs) > MAX_DEPTH:
            raise self._error(signs[0], f"expression recursion limit exceeded: {MAX_DEPTH}")
        is_negative = (
            len(signs) == 1 and signs[0].text == "-" and self._word.kind == "value" and type(self._word.value) in (int, float)
        )
        if is_negative:
            return self._negative(signs[0])
        node = self._member(self._primary())
        for sign in reversed(signs):
            node = Call(sign.at, _UNARY[sign.text], [node])
        return node

    def _negative(self, sign: Token) -> Node:
        """The smallest number has no opposite, so the sign belongs to it."""
        word = self._step()
        if type(word.value) is int and word.value > MAX_INT + 1:
            raise self._error(word, "invalid int literal")
        return self._member(Literal(sign.at, -word.value))

    def _member(self, node: Node) -> Node:
        length = 0
        while self._word.text in (".", "[") and self._word.kind == "sign":
            length += 1
            if length > MAX_CHAIN:
                raise self._error(self._word, f"expression recursion limit exceeded: {MAX_CHAIN}")
            word = self._step()
            is_optional = self._takes("?")
            node = self._index_of(word, node, is_optional) if word.text == "[" else self._field_of(word, node, is_optional)
        return node

    def _index_of(self, word: Token, node: Node, is_optional: bool) -> Node:
        index = self.expression()
        self._expect("]")
        return Call(word.at, "_[?_]" if is_optional else "_[_]", [node, index])

    def _field_of(self, dot: Token, node: Node, is_optional: bool) -> Node:
        word = self._step()
        if word.kind not in ("name", "quoted"):
            raise self._unexpected(word)
        if word.kind == "name" and not is_optional and self._takes("("):
            at = self._words[self._index - 1].at
            return self._macro(word.text, node, self._args(), at)
        if word.kind == "name" and word.text == "in":
            raise self._unexpected(word)
        return Select(dot.at, node, word.text, is_optional=is_optional)

    def _args(self) -> list[Node]:
        args: list[Node] = []
        if self._takes(")"):
            return args
        while True:
            args.append(self.expression())
            if self._takes(")"):
                return args
            self._expect(",")

    def _macro(self, name: str, target: Node | None, args: list[Node], at: int) -> Node:
        try:
            expanded = macros.expand(name, target, args, at)
        except macros.BadMacro as error:
            raise CompileError(self._source, [Issue(error.at, str(error))]) from None
        if expanded is not None:
            return expanded
        return Call(at, name, args) if target is None else Call(at, name, [target, *args], is_member=True)

    def _primary(self) -> Node:
        word = self._step()
        if word.kind == "value":
            return self._literal(word)
        if word.kind == "name":
            return self._name(word)
        match word.text if word.kind == "sign" else "":
            case "(":
                node = self.expression()
                self._expect(")")
                return node
            case "[":
                return self._list(word)
            case "{":
                return self._map(word)
            case "." if self._word.kind == "name":
                return self._name(self._step(), prefix=".")
            case _:
                raise self._unexpected(word)

    def _literal(self, word: Token) -> Node:
        if type(word.value) is int and word.value > MAX_INT:
            raise self._error(word, "invalid int literal")
        if type(word.value) is Uint and word.value > MAX_UINT:
            raise self._error(word, "invalid uint literal")
        return Literal(word.at, word.value)

    def _name(self, word: Token, prefix: str = "") -> Node:
        if word.text in ("true", "false", "null"):
            return Literal(word.at, {"true": True, "false": False, "null": None}[word.text])
        if word.text == "in":
            raise self._unexpected(word)
        if self._takes("("):
            return self._macro(word.text, None, self._args(), word.at)
        if word.text in RESERVED:
            raise self._error(word, f"reserved identifier: {word.text}")
        struct = self._struct(word)
        return struct if struct is not None else Ident(word.at, prefix + word.text)

    def _struct(self, word: Token) -> Node | None:
        """`a.b.C{...}`, if that is what follows."""
        ahead, path = self._index, [word.text]
        while self._words[ahead].text == "." and self._words[ahead + 1].kind == "name":
            path.append(self._words[ahead + 1].text)
            ahead += 2
        if self._words[ahead].text != "{" or self._words[ahead].kind != "sign":
            return None
        self._index = ahead + 1
        fields, optional = self._fields()
        return Struct(word.at, ".".join(path), fields, optional)

    def _fields(self) -> tuple[list[tuple[str, Node]], frozenset[int]]:
        fields: list[tuple[str, Node]] = []
        optional: set[int] = set()
        while not self._takes("}"):
            if self._takes("?"):
                optional.add(len(fields))
            word = self._step()
            if word.kind not in ("name", "quoted"):
                raise self._unexpected(word)
            self._expect(":")
            fields.append((word.text, self.expression()))
            if not self._takes(",") and self._word.text != "}":
                raise self._unexpected()
        return fields, frozenset(optional)

    def _list(self, word: Token) -> Node:
        items: list[Node] = []
        optional: set[int] = set()
        while not self._takes("]"):
            if self._takes("?"):
                optional.add(len(items))
            items.append(self.expression())
            if not self._takes(",") and self._word.text != "]":
                raise self._unexpected()
        return ListOf(word.at, items, frozenset(optional))

    def _map(self, word: Token) -> Node:
        entries: list[tuple[Node, Node]] = []
        optional: set[int] = set()
        while not self._takes("}"):
            if self._takes("?"):
                optional.add(len(entries))
            key = self.expression()
            self._expect(":")
            entries.append((key, self.expression()))
            if not self._takes(",") and self._word.text != "}":
                raise self._unexpected()
        return MapOf(word.at, entries, frozenset(optional))

    def _step(self) -> Token:
        word = self._word
        if word.kind != "end":
            self._index += 1
        return word

    def _takes(self, sign: str) -> bool:
        if self._word.kind == "sign" and self._word.text == sign:
            self._index += 1
            return True
        return False

    def _expect(self, sign: str) -> None:
        if not self._takes(sign):
            raise self._unexpected()

    def _unexpected(self, word: Token | None = None) -> CompileError:
        word = word or self._word
        return self._error(word, f"Syntax error: mismatched input '{word.text[:40]}'")

    def _error(self, word: Token, message: str) -> CompileError:
        return CompileError(self._source, [Issue(word.at, message)])
