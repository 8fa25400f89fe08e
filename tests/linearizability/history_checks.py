"""Checks a whole history and reports its problems."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import msgspec

from linearizability import checker, version_checks, watch_checks
from linearizability.history import History, Operation

MAX_REPORTED = 6
"""How many problems a report shows."""


def problems(history: History) -> list[str]:
    """Returns all problems of a history. Empty if it is linearizable and watches and permissions keep their guarantees."""
    return [*_registers(history), *version_checks.problems(history), *watch_checks.problems(history)]


def report(history: History, found: list[str]) -> str:
    """Returns a report of the problems, with the seed and the plan."""
    lines = "\n".join(f"- {problem}" for problem in found[:MAX_REPORTED])
    return f"{history.target}, seed {history.plan.seed}: {len(found)} problems\nplan: {history.plan}\n{lines}"


def _registers(history: History) -> Iterator[str]:
    for key, operations in sorted(registers(history).items()):
        verdict = checker.check(operations)
        if verdict.result != "linearizable":
            yield f"{key}: {verdict.result}; {verdict.explanation}"


def registers(history: History) -> dict[str, list[Operation]]:
    """Returns the operations of each key. A list reads every key; a decision may be stale by `rights_bound`."""
    by_key: dict[str, list[Operation]] = defaultdict(list)
    for one in history.operations:
        if one.kind == "decision":
            by_key[one.key].append(msgspec.structs.replace(one, start=one.start - history.rights_bound))
        elif one.kind not in {"list", "stale-get"}:
            by_key[one.key].append(one)
    for one in history.operations:
        if one.kind == "list" and one.outcome == "ok":
            for key in (key for key in by_key if not key.startswith("right/")):
                by_key[key].append(_part(one, key))
    return by_key


def _part(listed: Operation, key: str) -> Operation:
    seen = (listed.items or {}).get(key)
    return msgspec.structs.replace(listed, kind="get", key=key, found=seen and seen.value, version=0, items=None)
