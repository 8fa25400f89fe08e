"""What `matchConditions` ask of: expressions over a request, which whoever knows CEL evaluates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from probate.server.admission.attributes import Attributes

Object = dict[str, Any]


class Failed(Exception):
    """Some conditions could not be evaluated, and none of the others is false."""


class Conditions(Protocol):
    """Evaluates match conditions. `Api.conditions` has one, if anybody knows how."""

    async def hold(self, conditions: Sequence[Object], write: Attributes, object_: Object | None, old: Object | None) -> bool:
        """Whether all of them hold; False as soon as one does not. `Failed` if that cannot be said.

        Each has a `name` and an `expression` over `object`, `oldObject`, `request` and `authorizer`. The objects are given in the
        version in which the webhook or policy wants to see them.
        """
        ...
