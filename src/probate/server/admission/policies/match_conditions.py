"""Match conditions of webhooks, evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from probate.api.policies import compiled_policy, environment, validation
from probate.server.admission.attributes import Attributes
from probate.server.admission.policies import cel_variables
from probate.server.admission.webhooks.match_conditions import Failed
from probate.server.context import Api

Object = dict[str, Any]

MEDIUM = 1024
"""How much an object counts of which nobody has looked how large it is."""


class CelConditions:
    """Evaluates match conditions; each list of them is compiled once."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def hold(self, conditions: Sequence[Object], write: Attributes, object_: Object | None, old: Object | None) -> bool:
        """Whether all of them hold. `Failed` if that cannot be said."""
        about = cel_variables.request(write, cel_variables.Shown(write.at.resource, write.kind, object_, old))
        given = validation.Inputs(object_, old, about, None, None, cel_variables.authorizer(self._api, write))
        key = tuple((str(one.get("name")), str(one.get("expression"))) for one in conditions)
        try:
            return await self._api.apart(MEDIUM, lambda: validation.is_meant(_compiled(key), given))
        except validation.Trouble as trouble:
            raise Failed(str(trouble)) from None


@lru_cache(maxsize=512)
def _compiled(conditions: tuple[tuple[str, str], ...]) -> tuple[compiled_policy.Expression, ...]:
    written = [{"name": name, "expression": source} for name, source in conditions]
    return compiled_policy.compiled_conditions(written, environment.Speaks(has_namespace=False))
