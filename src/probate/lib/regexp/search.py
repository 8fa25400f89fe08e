"""Finds the position of a match: the leftmost match, and among those the one that Go prefers.

The search follows all paths through the program in parallel, in order of preference. It therefore reads each character at most
once for each program position; no pattern takes longer.
"""

from __future__ import annotations

from probate.core import work_limits
from probate.lib.regexp.automaton import Automaton, Instruction, Read, targets
from probate.lib.regexp.character_sets import Charset


def find(machine: Automaton, text: str, start: int) -> tuple[int, int] | None:
    """Returns the start and end of the first match at or after `start`; None if there is none."""
    program = machine.program
    threads: list[tuple[int, int]] = []  # program position and start of the match, in order of preference
    best: tuple[int, int] | None = None
    for at in range(start, len(text) + 1):
        if best is None:
            threads.append((0, at))
        elif not threads:
            break
        before, after = text[at - 1 : at] if at else "", text[at : at + 1]
        reads, match_start = _follow(program, threads, before=before, after=after)
        if match_start is not None:
            best = (match_start, at)
        threads = [(position + 1, started) for position, started, chars in reads if after and chars(after)]
        work_limits.spend(1 + len(reads))
    return best


def _follow(
    program: list[Instruction], threads: list[tuple[int, int]], *, before: str, after: str
) -> tuple[list[tuple[int, int, Charset]], int | None]:
    """Follows the threads without reading.

    Returns the reachable Read instructions in order of preference, up to the first thread that matches, and the start of
    that match.
    """
    visited: set[int] = set()
    reads: list[tuple[int, int, Charset]] = []
    for first, started in threads:
        pending = [first]
        while pending:
            position = pending.pop()
            if position in visited:
                continue
            visited.add(position)
            instruction = program[position]
            if instruction is None:
                return reads, started
            if isinstance(instruction, Read):
                reads.append((position, started, instruction.chars))
            else:
                pending.extend(reversed(targets(position, instruction, before=before, after=after)))
    return reads, None
