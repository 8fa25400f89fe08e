"""The interface for `matchConditions` of webhooks: CEL expressions over a request. `policies.policy_match_conditions` evaluates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from probate.api.objects import Object
from probate.server.admission.admission_attributes import Attributes


class EvaluationFailed(Exception):
    """A condition could not be evaluated, and none of the others is false."""


class MatchConditionEvaluator(Protocol):
    """Evaluates match conditions."""

    async def all_match(
        self, conditions: Sequence[Object], write: Attributes, *, object_: Object | None, old: Object | None
    ) -> bool:
        """Returns whether all conditions are true; False as soon as one is not. Raises `EvaluationFailed` if that is unknown.

        Each has a `name` and an `expression` over `object`, `oldObject`, `request` and `authorizer`. The objects are in the version
        that the webhook or policy matches.
        """
        ...
