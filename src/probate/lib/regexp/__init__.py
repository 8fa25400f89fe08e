"""Regular expressions in Go's syntax, matched in time proportional to the length of the text.

Kubernetes patterns are Go patterns: RE2 syntax, without look-around and back-references, and with a guaranteed linear match time.
Python's `re` has a different syntax and can backtrack for years on `(a+)+$`, so a client could block the server with a single
object. `syntax` parses a pattern into a tree, `character_sets` implements character classes, `automaton` runs the tree as a set of
states, and `search` finds the position of a match.

    pattern = compile_pattern("^[a-z]+$")   raises BadPattern for patterns that Go rejects
    pattern.search("abc")                   True: like Go's MatchString, anywhere in the text
"""

from __future__ import annotations

from functools import lru_cache

from probate.lib.regexp.automaton import Automaton
from probate.lib.regexp.syntax import BadPattern, parse

__all__ = ["Automaton", "BadPattern", "compile_pattern"]


@lru_cache(maxsize=2048)
def compile_pattern(pattern: str) -> Automaton:
    """Compiles a pattern. The result is cached, so a repeated call costs one lookup."""
    return Automaton(parse(pattern))
