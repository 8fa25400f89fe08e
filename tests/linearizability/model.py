"""The sequential model: a map of independent registers, each of which holds a value or is absent.

Every write has a unique value, so a compare-and-swap by resourceVersion equals one by value. This model does not use versions;
`version_checks` checks them separately.
"""

from __future__ import annotations

from typing import Final

from linearizability.history import Operation

State = str | None
"""The value of the register; None if the object does not exist."""


class Impossible:
    """Returned by `step` if an operation cannot have its outcome in a state."""


IMPOSSIBLE: Final = Impossible()


def step(state: State, operation: Operation) -> State | Impossible:
    """Returns the state after an operation with its outcome. For an unknown outcome: the state after it took effect."""
    if operation.kind in {"get", "decision"}:
        return state if _is_read(state, operation) else IMPOSSIBLE
    match operation.outcome:
        case "ok" | "unknown":
            return _written(operation) if _can_write(state, operation) else IMPOSSIBLE
        case "absent":
            return state if state is None else IMPOSSIBLE
        case "exists":
            return state if state is not None else IMPOSSIBLE
        case "conflict":
            return state if _conflicts(state, operation) else IMPOSSIBLE
        case "failed":
            raise ValueError("an operation that failed has no place in a linearization")


def is_pure(operation: Operation) -> bool:
    """Returns whether the operation changes nothing, so that it may come as soon as it is possible."""
    return not operation.is_write or operation.outcome not in {"ok", "unknown"}


def _is_read(state: State, operation: Operation) -> bool:
    if operation.kind == "decision":
        return (state is not None) == (operation.outcome == "ok")
    return state == operation.found


def _can_write(state: State, operation: Operation) -> bool:
    if operation.kind == "create":
        return state is None
    if operation.expected is not None:
        return state == operation.expected.value
    return state is not None


def _conflicts(state: State, operation: Operation) -> bool:
    return state is not None and operation.expected is not None and state != operation.expected.value


def _written(operation: Operation) -> State:
    return None if operation.kind == "delete" else operation.value
