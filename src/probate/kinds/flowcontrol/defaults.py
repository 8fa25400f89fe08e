"""Priority and fairness: flow schemas and priority levels."""

from __future__ import annotations

from probate.kinds.shared.object_fields import Object, below, child, fill, fill_zero, made


def default_flow_schema(schema: Object) -> None:
    """Fill a FlowSchema."""
    if (spec := made(schema, "spec")) is not None:
        fill_zero(spec, matchingPrecedence=1000)


def default_priority_level(level: Object) -> None:
    """Fill a PriorityLevelConfiguration. Of a limited one that no share was given to, zero is a share."""
    spec = made(level, "spec")
    if spec is None:
        return
    if (exempt := child(spec, "exempt")) is not None:
        fill(exempt, nominalConcurrencyShares=0, lendablePercent=0)
    if (limited := child(spec, "limited")) is not None:
        fill(limited, nominalConcurrencyShares=30, lendablePercent=0)
    if (queuing := below(spec, "limited", "limitResponse", "queuing")) is not None:
        fill_zero(queuing, queues=64, handSize=8, queueLengthLimit=50)
