"""The lexer: splits the source of an expression into tokens."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from probate.core import work_limits
from probate.lib.cel.errors import CompileError, Issue
from probate.lib.cel.numbers import Uint

MAX_SOURCE = 100_000
"""Maximum length of an expression in characters, as in Kubernetes."""

RESERVED = frozenset(
    {
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import"),
        *("let", "loop", "package", "namespace", "return", "var", "void", "while"),
    }
)
"""Reserved words: not valid as variables, but valid as field names."""

_TOKEN = re.compile(
    r"""(?P<space>[\s\f]+|//[^\n]*)
    |(?P<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<int>0x[0-9a-fA-F]+[uU]?|\d+[uU]?)
    |(?P<text>(?:[bB][rR]?|[rR][bB]?)?(?:\"\"\"|'''|"|'))
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<quoted>`[A-Za-z0-9_.\-/ ]*`)
    |(?P<sign>&&|\|\||<=|>=|==|!=|[-+*/%!<>?:.,()\[\]{}])""",
    re.VERBOSE,
)
_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\?\"'`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.?))", re.DOTALL
)
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class Token(NamedTuple):
    """A token. `kind` is value, name, quoted, sign (`text` is the operator or bracket), or end."""

    kind: str
    text: str
    at: int
    value: Any = None


def tokens(source: str) -> list[Token]:
    """Returns all tokens, followed by an end token. Raises `CompileError`."""
    if len(source) > MAX_SOURCE:
        raise CompileError(
            source[:1], [Issue(0, f"expression code point size exceeds limit: size: {len(source)}, limit {MAX_SOURCE}")]
        )
    work_limits.spend(1 + len(source) // 5)
    found, at = [], 0
    while at < len(source):
        token, at = _next(source, at)
        if token is not None:
            found.append(token)
    return [*found, Token("end", "<EOF>", len(source))]


def _next(source: str, at: int) -> tuple[Token | None, int]:
    match = _TOKEN.match(source, at)
    if match is None:
        raise CompileError(source, [Issue(at, f"Syntax error: token recognition error at: '{source[at]}'")])
    text, end = match[0], match.end()
    match match.lastgroup:
        case "space":
            return None, end
        case "float":
            return Token("value", text, at, float(text)), end
        case "int":
            return Token("value", text, at, _number(text)), end
        case "text":
            value, end = _text(source, at, text)
            return Token("value", source[at:end], at, value), end
        case "quoted":
            return Token("quoted", text[1:-1], at), end
        case kind:
            return Token(str(kind), text, at), end


def _number(text: str) -> int | Uint:
    is_unsigned = text[-1] in "uU"
    digits = text[:-1] if is_unsigned else text
    number = 1 << 70  # any value beyond 64 bits: long digit sequences exceed 64 bits anyway, and int() is slow for them
    if len(digits) <= 24:
        number = int(digits, 16) if digits.startswith("0x") else int(digits)
    return Uint(number) if is_unsigned else number


def _text(source: str, start: int, opening: str) -> tuple[str | bytes, int]:
    quotes = opening.lstrip("bBrR")
    prefix = opening[: -len(quotes)].lower()
    at = start + len(opening)
    end = _closing(source, at, quotes, is_raw="r" in prefix)
    if end < 0:
        raise CompileError(source, [Issue(start, f"Syntax error: token recognition error at: '{source[start : start + 20]}'")])
    inner = source[at:end]
    if "r" not in prefix:
        return (_bytes(source, inner, at) if "b" in prefix else _unescaped(source, inner, at)), end + len(quotes)
    return (inner.encode("utf-8", "surrogatepass") if "b" in prefix else inner), end + len(quotes)


def _closing(source: str, at: int, quotes: str, *, is_raw: bool) -> int:
    while at < len(source):
        if source.startswith(quotes, at):
            return at
        if source[at] in "\n\r" and len(quotes) == 1:
            return -1
        at += 2 if source[at] == "\\" and not is_raw else 1
    return -1


def _unescaped(source: str, inner: str, at: int) -> str:
    def one(match: re.Match[str]) -> str:
        char = _escape(source, match, at)
        return char if isinstance(char, str) else chr(char)

    return _ESCAPE.sub(one, inner) if "\\" in inner else inner


def _bytes(source: str, inner: str, at: int) -> bytes:
    """Decodes a bytes literal: octal and \\x escapes denote bytes, all other text is encoded as UTF-8."""
    found, last = bytearray(), 0
    for match in _ESCAPE.finditer(inner):
        found += inner[last : match.start()].encode("utf-8", "surrogatepass")
        char = _escape(source, match, at)
        found += bytes([char]) if isinstance(char, int) else char.encode("utf-8", "surrogatepass")
        last = match.end()
    return bytes(found + inner[last:].encode("utf-8", "surrogatepass"))


def _escape(source: str, match: re.Match[str], at: int) -> str | int:
    """Returns the character of an escape sequence, or the number for \\x and octal escapes."""
    simple, hexadecimal, short, long, octal, _ = match.groups()
    if simple:
        return _SIMPLE.get(simple, simple)
    if hexadecimal or octal:
        return int(hexadecimal, 16) if hexadecimal else int(octal, 8)
    code = int(short or long or "110000", 16)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise CompileError(source, [Issue(at + match.start(), f"invalid escape sequence: {match[0]}")])
    return chr(code)
