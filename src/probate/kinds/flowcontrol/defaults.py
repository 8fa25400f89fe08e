"""Sets the defaults of FlowSchemas and PriorityLevelConfigurations."""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.shared.object_fields import below, child, ensure_child, fill, fill_zero


def default_flow_schema(schema: Object) -> None:
    """Sets the defaults of a FlowSchema."""
    if (spec := ensure_child(schema, "spec")) is not None:
        fill_zero(spec, matchingPrecedence=1000)


def default_priority_level(level: Object) -> None:
    """Sets the defaults of a PriorityLevelConfiguration. For a limited one, zero shares are a value, not an absent field."""
    spec = ensure_child(level, "spec")
    if spec is None:
        return
    if (exempt := child(spec, "exempt")) is not None:
        fill(exempt, nominalConcurrencyShares=0, lendablePercent=0)
    if (limited := child(spec, "limited")) is not None:
        fill(limited, nominalConcurrencyShares=30, lendablePercent=0)
    if (queuing := below(spec, "limited", "limitResponse", "queuing")) is not None:
        fill_zero(queuing, queues=64, handSize=8, queueLengthLimit=50)
