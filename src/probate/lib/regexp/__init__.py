"""Patterns as Go understands them, matched in time proportional to the text.

Kubernetes' patterns are Go's: RE2 syntax, no look-around, no back-references, and no pattern can take for ever. Python's `re`
has other syntax and may backtrack for years on `(a+)+$`, so a client could stop the server with one object. `syntax` reads a
pattern into a tree, `charsets` says what a character class contains, `automaton` runs the tree as a set of states.

    pattern = compile_pattern("^[a-z]+$")   raises BadPattern for what Go refuses
    pattern.search("abc")                 True: like Go's MatchString, anywhere in the text
"""

from __future__ import annotations

from functools import lru_cache

from probate.lib.regexp.automaton import Automaton
from probate.lib.regexp.syntax import BadPattern, parse

__all__ = ["Automaton", "BadPattern", "compile_pattern"]


@lru_cache(maxsize=2048)
def compile_pattern(pattern: str) -> Automaton:
    """The pattern, ready to match. The same one again costs a look-up."""
    return Automaton(parse(pattern))
