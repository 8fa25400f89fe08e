"""A lazily built automaton that reads each character once.

The syntax tree becomes a program of four instructions; a state is the set of program positions that are active. States and
transitions are created on first use and cached, so a frequently used pattern runs at one lookup per character. The worst-case cost
is the product of the pattern length and the text length.
"""

from __future__ import annotations

from typing import NamedTuple

from probate.core import work_limits
from probate.lib.regexp import syntax
from probate.lib.regexp.character_sets import Charset

_MAX_CACHED_STEPS = 5_000  # cached transitions; beyond this the cache is cleared and rebuilt
_MAX_CACHED_POSITIONS = 20_000  # total positions of the cached states; limits the cache to a few megabytes


class Read(NamedTuple):
    """Reads a character of a set."""

    chars: Charset


class Fork(NamedTuple):
    """Continues at each of these positions, in order of preference."""

    targets: tuple[int, ...]


class At(NamedTuple):
    """Continues if the current position is a boundary of this kind."""

    kind: str


Instruction = Read | Fork | At | None  # None ends the program: the pattern matches


class _State:
    """The active program positions after `before`, the last character read; `before` is "" at the start of the text."""

    __slots__ = ("before", "positions", "steps")

    def __init__(self, positions: frozenset[int], before: str) -> None:
        self.positions = positions
        self.before = before
        self.steps: dict[str, _State] = {}


_MATCHED = _State(frozenset(), "")


class Automaton:
    """A compiled pattern. Safe to share: the cached states do not change any result."""

    def __init__(self, tree: syntax.Node) -> None:
        work_limits.spend(syntax.size(tree))
        self.program: list[Instruction] = []
        self._emit(tree)
        self.program.append(None)
        self._clear_cache()

    def search(self, text: str) -> bool:
        """Returns whether the pattern matches anywhere in the text."""
        state = self._start
        for char in text:
            state = state.steps.get(char) or self._step(state, char)
            if state is _MATCHED:
                return True
        return (state.steps.get("") or self._step(state, "")) is _MATCHED

    def _clear_cache(self) -> None:
        self._start = _State(frozenset((0,)), "")
        self._states = {(self._start.positions, ""): self._start}
        self._step_count = 0
        self._position_count = 0

    def _step(self, state: _State, char: str) -> _State:
        """Computes and caches the transition from a state over a character (or over the end of the text, "")."""
        if self._step_count >= _MAX_CACHED_STEPS or self._position_count >= _MAX_CACHED_POSITIONS:
            self._clear_cache()
        self._step_count += 1
        state.steps[char] = following = self._compute_step(state, char)
        return following

    def _compute_step(self, state: _State, char: str) -> _State:
        reads = self._follow(state.positions, state.before, char)
        if reads is None:
            return _MATCHED
        positions = {position + 1 for position, chars in reads if char and chars(char)}
        positions.add(0)  # a match can start at any character
        key = (frozenset(positions), _character_class(char))
        known = self._states.get(key)
        if known is None:
            self._states[key] = known = _State(*key)
            self._position_count += len(positions)
        return known

    def _follow(self, positions: frozenset[int], before: str, after: str) -> list[tuple[int, Charset]] | None:
        """Returns all Read instructions reachable without reading; None if the end of the program is reachable."""
        pending, visited = list(positions), set(positions)
        reads: list[tuple[int, Charset]] = []
        while pending:
            position = pending.pop()
            instruction = self.program[position]
            if instruction is None:
                return None
            if isinstance(instruction, Read):
                reads.append((position, instruction.chars))
                continue
            for target in targets(position, instruction, before=before, after=after):
                if target not in visited:
                    visited.add(target)
                    pending.append(target)
        work_limits.spend(1 + len(visited) // 2)
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
            case syntax.Repeat(part, minimum, maximum, is_lazy):
                self._emit_repeat(part, minimum, maximum, is_lazy=is_lazy)

    def _emit_either(self, parts: tuple[syntax.Node, ...]) -> None:
        fork, jumps, starts = self._reserve(), [], []
        for part in parts:
            starts.append(len(self.program))
            self._emit(part)
            jumps.append(self._reserve())
        self.program[fork] = Fork(tuple(starts))
        for jump in jumps:
            self.program[jump] = Fork((len(self.program),))

    def _emit_repeat(self, part: syntax.Node, minimum: int, maximum: int | None, *, is_lazy: bool) -> None:
        for _ in range(minimum):
            self._emit(part)
        if maximum is None:
            fork = self._reserve()
            self._emit(part)
            self.program.append(Fork((fork,)))
            self.program[fork] = _fork(fork + 1, len(self.program), is_lazy=is_lazy)
            return
        forks = []
        for _ in range(maximum - minimum):
            forks.append(self._reserve())
            self._emit(part)
        for fork in forks:
            self.program[fork] = _fork(fork + 1, len(self.program), is_lazy=is_lazy)

    def _reserve(self) -> int:
        self.program.append(Fork(()))
        return len(self.program) - 1


def _character_class(char: str) -> str:
    """Reduces a character to what a later boundary check needs: a line end, a word character, or neither."""
    if char == "\n":
        return char
    return "w" if _is_word(char) else "-"


def _fork(again: int, after_loop: int, *, is_lazy: bool) -> Fork:
    """Creates the fork of a repetition; the preferred target is first."""
    return Fork((after_loop, again) if is_lazy else (again, after_loop))


def targets(position: int, instruction: Fork | At, *, before: str, after: str) -> tuple[int, ...]:
    """Returns the positions that follow this instruction without reading."""
    if isinstance(instruction, Fork):
        return instruction.targets
    return (position + 1,) if _is_at(instruction.kind, before, after) else ()


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
