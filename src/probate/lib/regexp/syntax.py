"""Parses Go's pattern syntax into a tree. Rejects what Go rejects: look-around, back-references, counts above 1000.

No caller needs the text captured by a group, so the tree contains no groups.

    parse("^a{2,3}|b$")   Either((Sequence((Edge("start"), Repeat(One(a), 2, 3))), Sequence((One(b), Edge("end")))))
"""

from __future__ import annotations

import re
from typing import NamedTuple

from probate.core import work_limits
from probate.lib.regexp import character_sets
from probate.lib.regexp.character_sets import Charset

_MAX_REPEATS = 1000
MAX_SIZE = 20_000  # Go allows 100 times as much, and is about 100 times faster
_MAX_DEPTH = 200  # Go's limit is 1000, but Python's stack is smaller
_COUNT = re.compile(r"\{([0-9]{1,9})(,([0-9]{1,9})?)?\}")
_GROUP_NAME = re.compile(r"P?<([A-Za-z0-9_]+)>")
_FLAGS = re.compile(r"([imsU]*)(?:-([imsU]+))?([:)])")
_HEX = re.compile(r"\{([0-9A-Fa-f]{1,6})\}|([0-9A-Fa-f]{2})")
_OCTAL = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}")
_UNICODE_NAME = re.compile(r"\{([^}]*)\}|([A-Za-z])")
_POSIX_NAME = re.compile(r"\[:(\^?[a-z]+):\]")
_CONTROL = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_EDGES = {"A": "start", "z": "end", "b": "word", "B": "no word"}


class BadPattern(ValueError):
    """The pattern is invalid in Go. The message is Go's."""


class One(NamedTuple):
    """Matches one character of a set."""

    chars: Charset


class Edge(NamedTuple):
    """Matches a boundary: start, end, line start, line end, word, no word."""

    kind: str


class Sequence(NamedTuple):
    """Matches its parts in sequence."""

    parts: tuple[Node, ...]


class Either(NamedTuple):
    """Matches one of its alternatives."""

    parts: tuple[Node, ...]


class Repeat(NamedTuple):
    """Matches its part repeatedly; `most` is None without an upper limit. `is_lazy`: prefers fewer repetitions."""

    part: Node
    least: int
    most: int | None
    is_lazy: bool = False


Node = One | Edge | Sequence | Either | Repeat


def parse(pattern: str) -> Node:
    """Parses a pattern. Raises `BadPattern`."""
    if len(pattern) > MAX_SIZE:
        raise BadPattern("expression too large")
    work_limits.spend(5 * len(pattern))
    reader = _Reader(pattern)
    node = reader.read_either(depth=0)
    if not reader.is_done:
        raise BadPattern(f"unexpected ): `{pattern}`")
    _limit_repeats(node, 1)
    if size(node) > MAX_SIZE:
        raise BadPattern("expression too large")
    return node


def size(node: Node) -> int:
    """Returns the number of instructions that the tree compiles to."""
    match node:
        case Repeat(part, least, None):
            return size(part) * (least + 1) + 2
        case Repeat(part, _, int(most)):
            return (size(part) + 1) * most
        case Sequence(parts):
            return sum(map(size, parts))
        case Either(parts):
            return sum(size(one) + 1 for one in parts) + 1
        case _:
            return 1


def _limit_repeats(node: Node, factor: int) -> None:
    """Rejects nested counts whose product is too large: (a{100}){100} would need ten thousand states."""
    match node:
        case Repeat(part, least, most):
            factor *= max(least, most or 0, 1)
            if factor > _MAX_REPEATS:
                raise BadPattern("invalid repeat count: nested counts are over 1000")
            _limit_repeats(part, factor)
        case Sequence(parts) | Either(parts):
            for one in parts:
                _limit_repeats(one, factor)
        case _:
            pass


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._flags: frozenset[str] = frozenset()

    @property
    def is_done(self) -> bool:
        return self._at >= len(self._text)

    def read_either(self, depth: int) -> Node:
        """Parses alternatives up to a closing parenthesis or the end."""
        if depth > _MAX_DEPTH:
            raise BadPattern("expression nests too deeply")
        parts = [self._read_sequence(depth)]
        while self._accept("|"):
            parts.append(self._read_sequence(depth))
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _read_sequence(self, depth: int) -> Node:
        parts: list[Node] = []
        while not self.is_done and self._text[self._at] not in "|)":
            if self._accept("\\Q"):
                parts.extend(self._read_quoted())
                continue
            atom = self._read_atom(depth)
            if atom is not None:
                parts.append(self._read_repeats(atom))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _read_quoted(self) -> list[Node]:
        end = self._text.find("\\E", self._at)
        quoted = self._text[self._at :] if end < 0 else self._text[self._at : end]
        self._at = len(self._text) if end < 0 else end + 2
        nodes: list[Node] = [self._one(character_sets.ranges(char * 2)) for char in quoted]
        return [*nodes[:-1], self._read_repeats(nodes[-1])] if nodes else []

    def _read_repeats(self, atom: Node) -> Node:
        bounds = self._read_bounds()
        if bounds is None:
            return atom
        is_lazy = self._accept("?") != ("U" in self._flags)
        start = self._at
        if self._read_bounds() is not None:
            raise BadPattern(f"invalid nested repetition operator: `{self._text[start - 1 : self._at]}`")
        return Repeat(atom, *bounds, is_lazy)

    def _read_bounds(self) -> tuple[int, int | None] | None:
        for operator, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._accept(operator):
                return bounds
        match_ = _COUNT.match(self._text, self._at)
        return self._count(match_) if match_ else None

    def _count(self, match_: re.Match[str]) -> tuple[int, int | None]:
        self._at = match_.end()
        least = int(match_[1])
        most = least if match_[2] is None else int(match_[3]) if match_[3] else None
        if max(least, most or 0) > _MAX_REPEATS or (most is not None and most < least):
            raise BadPattern(f"invalid repeat count: `{match_[0]}`")
        return least, most

    def _read_atom(self, depth: int) -> Node | None:
        start = self._at
        if self._read_bounds() is not None:
            raise BadPattern(f"missing argument to repetition operator: `{self._text[start : self._at]}`")
        char = self._next()
        match char:
            case "(":
                return self._read_group(depth)
            case "[":
                return One(self._read_class())
            case ".":
                return One((lambda _: True) if "s" in self._flags else "\n".__ne__)
            case "^":
                return Edge("line start" if "m" in self._flags else "start")
            case "$":
                return Edge("line end" if "m" in self._flags else "end")
            case "\\":
                return self._read_escape()
            case _:
                return self._one(character_sets.ranges(char * 2))

    def _read_group(self, depth: int) -> Node | None:
        outer = self._flags
        if self._accept("?"):
            if name := _GROUP_NAME.match(self._text, self._at):
                self._at = name.end()
            elif self._read_flags():
                return None  # (?i) applies up to the end of the enclosing group
        inner = self.read_either(depth + 1)
        self._flags = outer  # flags set inside end with the group
        if not self._accept(")"):
            raise BadPattern(f"missing closing ): `{self._text}`")
        return inner

    def _read_flags(self) -> bool:
        """Parses (?flags: or (?flags). Returns True if the group ends here."""
        match_ = _FLAGS.match(self._text, self._at)
        if match_ is None or (match_[3] == ")" and not match_[1] and not match_[2]):
            raise BadPattern(f"invalid or unsupported Perl syntax: `(?{self._text[self._at : self._at + 1]}`")
        self._at = match_.end()
        self._flags = (self._flags | set(match_[1])) - set(match_[2] or "")
        return match_[3] == ")"

    def _read_escape(self) -> Node:
        char = self._text[self._at : self._at + 1]
        if char in _EDGES and char:
            self._at += 1
            return Edge(_EDGES[char])
        return self._one(self._read_set() or character_sets.ranges(self._read_escaped() * 2))

    def _read_set(self) -> Charset | None:
        """Parses d, w, s, p or their complements after a backslash; consumes nothing and returns None otherwise."""
        char = self._text[self._at : self._at + 1]
        if char and char in "dDwWsS":
            self._at += 1
            return character_sets.perl(char)
        if char and char in "pP":
            return self._read_unicode()
        return None

    def _read_unicode(self) -> Charset:
        is_negated = self._next() == "P"
        match_ = _UNICODE_NAME.match(self._text, self._at)
        inner = character_sets.unicode_class(match_[1] or match_[2] or "") if match_ else None
        if match_ is None or inner is None:
            raise BadPattern(f"invalid character class range: `\\p{self._text[self._at : self._at + 20]}`")
        self._at = match_.end()
        return character_sets.complement(inner) if is_negated else inner

    def _read_escaped(self) -> str:
        """Parses an escape after a backslash and returns the character that it denotes."""
        if octal := _OCTAL.match(self._text, self._at):
            self._at = octal.end()
            return chr(int(octal[0], 8))
        char = self._next("trailing backslash at end of expression")
        if char == "x" and (match_ := _HEX.match(self._text, self._at)):
            return self._hex(match_)
        if char in _CONTROL:
            return _CONTROL[char]
        if char.isascii() and not char.isalnum():
            return char
        raise BadPattern(f"invalid escape sequence: `\\{char}`")

    def _hex(self, match_: re.Match[str]) -> str:
        self._at = match_.end()
        code = int(match_[1] or match_[2], 16)
        if code > 0x10FFFF:
            raise BadPattern(f"invalid escape sequence: `\\x{match_[0]}`")
        return chr(code)

    def _read_class(self) -> Charset:
        start = self._at
        is_negated = self._accept("^")
        sets: list[Charset] = []
        while not sets or not self._accept("]"):
            if self.is_done:
                raise BadPattern(f"missing closing ]: `{self._text[start - 1 :]}`")
            sets.append(self._read_class_part())
        inner = character_sets.union(sets)
        if "i" in self._flags:
            inner = character_sets.case_insensitive(inner)
        return character_sets.complement(inner) if is_negated else inner

    def _read_class_part(self) -> Charset:
        if match_ := _POSIX_NAME.match(self._text, self._at):
            self._at = match_.end()
            if (named := character_sets.posix(match_[1])) is None:
                raise BadPattern(f"invalid character class range: `{match_[0]}`")
            return named
        if self._accept("\\"):
            if (special := self._read_set()) is not None:
                return special
            return self._read_range(self._read_escaped())
        return self._read_range(self._next())

    def _read_range(self, low: str) -> Charset:
        if self._text[self._at : self._at + 1] != "-" or self._text[self._at + 1 : self._at + 2] in ("]", ""):
            return character_sets.ranges(low * 2)
        self._at += 1
        high = self._read_escaped() if self._accept("\\") else self._next()
        if high < low:
            raise BadPattern(f"invalid character class range: `{low}-{high}`")
        return character_sets.ranges(low + high)

    def _one(self, chars: Charset) -> One:
        return One(character_sets.case_insensitive(chars) if "i" in self._flags else chars)

    def _accept(self, text: str) -> bool:
        is_there = self._text.startswith(text, self._at)
        self._at += len(text) if is_there else 0
        return is_there

    def _next(self, otherwise: str = "unexpected end of expression") -> str:
        if self.is_done:
            raise BadPattern(otherwise)
        self._at += 1
        return self._text[self._at - 1]
