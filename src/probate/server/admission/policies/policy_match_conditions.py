"""Evaluates the match conditions of webhooks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from probate.api.objects import Object
from probate.api.policies import compiled_policy, environment, policy_evaluation
from probate.core.aio.large_work import Offloader
from probate.server.admission.admission_attributes import Attributes
from probate.server.admission.policies import cel_variables
from probate.server.admission.webhooks.webhook_match_conditions import EvaluationFailed
from probate.server.authz.authorizer import Authorizer

MEDIUM_BYTES = 1024
"""The assumed size of an object whose size is not known."""


class CelMatchConditions:
    """Evaluates match conditions. Each list of conditions is compiled once."""

    def __init__(self, authorizer: Authorizer, offloader: Offloader) -> None:
        self._authorizer = authorizer
        self._offloader = offloader

    async def all_match(
        self, conditions: Sequence[Object], write: Attributes, *, object_: Object | None, old: Object | None
    ) -> bool:
        """Returns whether all conditions are true. Raises `EvaluationFailed` if that cannot be determined."""
        converted = cel_variables.VersionedWrite(write.at.resource, write.kind, object_, old)
        variable = cel_variables.request_variable(write, converted)
        authorizer = cel_variables.authorizer_variable(write, self._authorizer.cel_authorizer(write.request.user))
        inputs = policy_evaluation.Inputs(object_, old, variable, None, None, authorizer)
        key = tuple((str(condition.get("name")), str(condition.get("expression"))) for condition in conditions)
        try:
            return await self._offloader.offload_if_large(
                MEDIUM_BYTES, lambda: policy_evaluation.conditions_match(_compiled(key), inputs)
            )
        except policy_evaluation.EvaluationError as error:
            raise EvaluationFailed(str(error)) from None


@lru_cache(maxsize=512)
def _compiled(conditions: tuple[tuple[str, str], ...]) -> tuple[compiled_policy.Expression, ...]:
    expressions = [{"name": name, "expression": source} for name, source in conditions]
    return compiled_policy.compile_conditions(expressions, environment.OptionalVariables(has_namespace=False))
