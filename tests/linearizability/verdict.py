"""Checks a whole history, and says what is wrong with it so that somebody can find out why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import msgspec

from linearizability import checker, versions, watches
from linearizability.history import History, Operation

MOST = 6
"""How many problems are told."""


def problems(history: History) -> list[str]:
    """Everything that is wrong with a history. Empty if it is linearizable, and watches and rights are as promised."""
    return [*_registers(history), *versions.problems(history), *watches.problems(history)]


def report(history: History, found: list[str]) -> str:
    """The problems with the seed and the plan."""
    told = "\n".join(f"- {problem}" for problem in found[:MOST])
    return f"{history.target}, seed {history.plan.seed}: {len(found)} problems\nplan: {history.plan}\n{told}"


def _registers(history: History) -> Iterator[str]:
    for key, operations in sorted(registers(history).items()):
        verdict = checker.check(operations)
        if verdict.result != "linearizable":
            yield f"{key}: {verdict.result}; {verdict.explanation}"


def registers(history: History) -> dict[str, list[Operation]]:
    """The operations of each key. A list is one read of every key; a decision may be as old as the bound for rights allows."""
    found: dict[str, list[Operation]] = defaultdict(list)
    for one in history.operations:
        if one.kind == "decision":
            found[one.key].append(msgspec.structs.replace(one, start=one.start - history.rights_bound))
        elif one.kind not in {"list", "stale-get"}:
            found[one.key].append(one)
    for one in history.operations:
        if one.kind == "list" and one.outcome == "ok":
            for key in (key for key in found if not key.startswith("right/")):
                found[key].append(_part(one, key))
    return found


def _part(listed: Operation, key: str) -> Operation:
    seen = (listed.items or {}).get(key)
    return msgspec.structs.replace(listed, kind="get", key=key, found=seen and seen.value, version=0, items=None)
