"""What a controller did, as lines of the log: one for each action, with its reason. docs/sight.md explains them.

Nothing is made of what nobody reads: for thousands of actions the level is asked for once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from probate.api.ownership import Action, Conclude, Delete, Describe, Drop, Outcome, Release, Unblock
from probate.core.logs import facts
from probate.gc.backend import World

MESSAGES: dict[type[Action], str] = {
    Delete: "deleted",
    Drop: "references dropped",
    Unblock: "references block no more",
    Release: "released",
    Describe: "status written",
    Conclude: "emptied and let go",
}


def tell(log: logging.Logger, world: World, actions: Iterable[tuple[Action, Outcome]]) -> None:
    """Tell of those that were done."""
    if not log.isEnabledFor(logging.INFO):
        return
    for action, outcome in actions:
        if outcome is Outcome.DONE:
            _tell(log, world, action)


def _tell(log: logging.Logger, world: World, action: Action) -> None:
    where, meta = action.item.where, action.item.meta
    log.info(
        MESSAGES[type(action)],
        extra=facts(
            what=str(world.resource_at(where)),
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            policy=action.policy.value if isinstance(action, Delete) and action.policy is not None else "",
            because=action.because,
        ),
    )
