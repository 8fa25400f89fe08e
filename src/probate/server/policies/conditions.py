"""Match conditions of webhooks, evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from probate.machinery.policies import compiling, environment, evaluating
from probate.server.admission.attributes import Attributes
from probate.server.api import Api
from probate.server.policies import requests
from probate.server.webhooks.conditions import Failed

Object = dict[str, Any]

MEDIUM = 1024
"""How much an object counts of which nobody has looked how large it is."""


class CelConditions:
    """Evaluates match conditions; each list of them is compiled once."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def hold(self, conditions: Sequence[Object], write: Attributes, object_: Object | None, old: Object | None) -> bool:
        """Whether all of them hold. `Failed` if that cannot be said."""
        about = requests.request(write, requests.Shown(write.at.resource, write.kind, object_, old))
        given = evaluating.Inputs(object_, old, about, None, None, requests.authorizer(self._api, write))
        key = tuple((str(one.get("name")), str(one.get("expression"))) for one in conditions)
        try:
            return await self._api.apart(MEDIUM, lambda: evaluating.is_meant(_compiled(key), given))
        except evaluating.Trouble as trouble:
            raise Failed(str(trouble)) from None


@lru_cache(maxsize=512)
def _compiled(conditions: tuple[tuple[str, str], ...]) -> tuple[compiling.Expression, ...]:
    written = [{"name": name, "expression": source} for name, source in conditions]
    return compiling.compiled_conditions(written, environment.Speaks(has_namespace=False))
