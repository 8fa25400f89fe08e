"""Logs what a controller did: one line for each action, with its reason. docs/inspection.md explains the lines.

The log level is checked once for thousands of actions, so nothing is formatted that is not written.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from probate.api.ownership import (
    Action,
    ClearBlockOwnerDeletion,
    Delete,
    Finalize,
    Outcome,
    RemoveFinalizer,
    RemoveFinalizers,
    RemoveOwnerReferences,
    UpdateStatus,
)
from probate.core.logs import facts
from probate.gc.backend import Backend

MESSAGES: dict[type[Action], str] = {
    Delete: "deleted",
    RemoveOwnerReferences: "removed owner references",
    ClearBlockOwnerDeletion: "cleared blockOwnerDeletion",
    RemoveFinalizer: "released",
    RemoveFinalizers: "removed finalizers",
    UpdateStatus: "updated status",
    Finalize: "finalized",
}


def log_actions(log: logging.Logger, backend: Backend, actions: Iterable[tuple[Action, Outcome]]) -> None:
    """Logs the actions that were done."""
    if not log.isEnabledFor(logging.INFO):
        return
    for action, outcome in actions:
        if outcome is Outcome.DONE:
            _log(log, backend, action)


def _log(log: logging.Logger, backend: Backend, action: Action) -> None:
    key, meta = action.item.key, action.item.meta
    log.info(
        MESSAGES[type(action)],
        extra=facts(
            what=str(backend.resource_of(key)),
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            policy=action.policy.value if isinstance(action, Delete) and action.policy is not None else "",
            because=action.because,
        ),
    )
