"""A pattern's tree as a machine that reads each character once.

The tree becomes a program of four instructions; a state is the set of places where the program may be. States and the steps
between them are made when first needed and kept, so a pattern that is used often runs at one look-up per character. The
worst pattern and the longest text together cost their product, never more.
"""

from __future__ import annotations

from typing import NamedTuple

from probate.core import work_limits
from probate.lib.regexp import syntax
from probate.lib.regexp.character_sets import Charset

_MOST_STEPS = 5_000  # kept; then all are forgotten and made again
_MOST_PLACES = 20_000  # of all states that are kept: so that they take a few megabytes, not gigabytes


class Read(NamedTuple):
    """Read a character of a set."""

    chars: Charset


class Fork(NamedTuple):
    """Go on at any of these, the first preferred."""

    targets: tuple[int, ...]


class At(NamedTuple):
    """Go on if this is such a place."""

    kind: str


Instruction = Read | Fork | At | None  # None is the end: it matches


class _State:
    """Where the program may be after `before`, the last character read: "" at the start of the text."""

    __slots__ = ("before", "places", "steps")

    def __init__(self, places: frozenset[int], before: str) -> None:
        self.places = places
        self.before = before
        self.steps: dict[str, _State] = {}


_MATCHED = _State(frozenset(), "")


class Automaton:
    """A compiled pattern. Safe to share: what it learns while matching changes no answer."""

    def __init__(self, tree: syntax.Node) -> None:
        work_limits.spend(syntax.size(tree))
        self.program: list[Instruction] = []
        self._emit(tree)
        self.program.append(None)
        self._forget()

    def search(self, text: str) -> bool:
        """Whether the pattern matches anywhere in the text."""
        state = self._start
        for char in text:
            state = state.steps.get(char) or self._step(state, char)
            if state is _MATCHED:
                return True
        return (state.steps.get("") or self._step(state, "")) is _MATCHED

    def _forget(self) -> None:
        self._start = _State(frozenset((0,)), "")
        self._states = {(self._start.places, ""): self._start}
        self._step_count = 0
        self._place_count = 0

    def _step(self, state: _State, char: str) -> _State:
        """From the state over the character (or over the end, "") to the next one."""
        if self._step_count >= _MOST_STEPS or self._place_count >= _MOST_PLACES:
            self._forget()
        self._step_count += 1
        state.steps[char] = found = self._make_step(state, char)
        return found

    def _make_step(self, state: _State, char: str) -> _State:
        reached = self._follow(state.places, state.before, char)
        if reached is None:
            return _MATCHED
        places = {place + 1 for place, chars in reached if char and chars(char)}
        places.add(0)  # a match may begin at any character
        key = (frozenset(places), _seen(char))
        known = self._states.get(key)
        if known is None:
            self._states[key] = known = _State(*key)
            self._place_count += len(places)
        return known

    def _follow(self, places: frozenset[int], before: str, after: str) -> list[tuple[int, Charset]] | None:
        """All reading places that can be reached without reading; None if the end can be."""
        waiting, seen = list(places), set(places)
        reads: list[tuple[int, Charset]] = []
        while waiting:
            place = waiting.pop()
            instruction = self.program[place]
            if instruction is None:
                return None
            if isinstance(instruction, Read):
                reads.append((place, instruction.chars))
                continue
            for target in targets(place, instruction, before, after):
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        work_limits.spend(1 + len(seen) // 2)
        return reads

    def _emit(self, node: syntax.Node) -> None:
        match node:
            case syntax.One(chars):
                self.program.append(Read(chars))
            case syntax.Edge(kind):
                self.program.append(At(kind))
            case syntax.Sequence(parts):
                for part in parts:
                    self._emit(part)
            case syntax.Either(parts):
                self._emit_either(parts)
            case syntax.Repeat(part, least, most, is_lazy):
                self._emit_repeat(part, least, most, is_lazy)

    def _emit_either(self, parts: tuple[syntax.Node, ...]) -> None:
        fork, jumps, starts = self._reserve(), [], []
        for part in parts:
            starts.append(len(self.program))
            self._emit(part)
            jumps.append(self._reserve())
        self.program[fork] = Fork(tuple(starts))
        for jump in jumps:
            self.program[jump] = Fork((len(self.program),))

    def _emit_repeat(self, part: syntax.Node, least: int, most: int | None, is_lazy: bool) -> None:
        for _ in range(least):
            self._emit(part)
        if most is None:
            fork = self._reserve()
            self._emit(part)
            self.program.append(Fork((fork,)))
            self.program[fork] = _fork(fork + 1, len(self.program), is_lazy=is_lazy)
            return
        forks = []
        for _ in range(most - least):
            forks.append(self._reserve())
            self._emit(part)
        for fork in forks:
            self.program[fork] = _fork(fork + 1, len(self.program), is_lazy=is_lazy)

    def _reserve(self) -> int:
        self.program.append(Fork(()))
        return len(self.program) - 1


def _seen(char: str) -> str:
    """What a later edge needs to know of a character: a line's end, part of a word, or neither."""
    if char == "\n":
        return char
    return "w" if _is_word(char) else "-"


def _fork(again: int, onward: int, *, is_lazy: bool) -> Fork:
    """Once more, or on: what is tried first is preferred."""
    return Fork((onward, again) if is_lazy else (again, onward))


def targets(place: int, instruction: Fork | At, before: str, after: str) -> tuple[int, ...]:
    """Where the program may go on from there."""
    if isinstance(instruction, Fork):
        return instruction.targets
    return (place + 1,) if _is_at(instruction.kind, before, after) else ()


def _is_at(kind: str, before: str, after: str) -> bool:
    match kind:
        case "start":
            return before == ""
        case "end":
            return after == ""
        case "line start":
            return before in ("", "\n")
        case "line end":
            return after in ("", "\n")
        case _:
            return (_is_word(before) != _is_word(after)) == (kind == "word")


def _is_word(char: str) -> bool:
    return char != "" and char.isascii() and (char.isalnum() or char == "_")
