"""Where in a text a pattern matches: the match that begins first, and of those the one that Go prefers.

All ways through the pattern are followed at once, in the order of preference, so that each character is read once for each place
in the pattern and never again: no pattern takes longer than that.
"""

from __future__ import annotations

from probate.core import work_limits
from probate.lib.regexp.automaton import Automaton, Instruction, Read, targets
from probate.lib.regexp.character_sets import Charset


def find(machine: Automaton, text: str, start: int) -> tuple[int, int] | None:
    """Where the first match at or after `start` begins and ends."""
    program = machine.program
    threads: list[tuple[int, int]] = []  # place in the program, and where its match began: preferred ones first
    best: tuple[int, int] | None = None
    for at in range(start, len(text) + 1):
        if best is None:
            threads.append((0, at))
        elif not threads:
            break
        before, after = text[at - 1 : at] if at else "", text[at : at + 1]
        reads, ended = _reach(program, threads, before, after)
        if ended is not None:
            best = (ended, at)
        threads = [(place + 1, began) for place, began, chars in reads if after and chars(after)]
        work_limits.spend(1 + len(reads))
    return best


def _reach(
    program: list[Instruction], threads: list[tuple[int, int]], before: str, after: str
) -> tuple[list[tuple[int, int, Charset]], int | None]:
    """The reading places that can be reached without reading, in order, up to the first way that ends; and where that one began."""
    seen: set[int] = set()
    reads: list[tuple[int, int, Charset]] = []
    for first, began in threads:
        waiting = [first]
        while waiting:
            place = waiting.pop()
            if place in seen:
                continue
            seen.add(place)
            instruction = program[place]
            if instruction is None:
                return reads, began
            if isinstance(instruction, Read):
                reads.append((place, began, instruction.chars))
            else:
                waiting.extend(reversed(targets(place, instruction, before, after)))
    return reads, None
