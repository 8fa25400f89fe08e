"""Match conditions of webhooks, evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from probate.machinery.policies.compiling import Expression, compiled_conditions
from probate.machinery.policies.environment import Speaks
from probate.machinery.policies.evaluating import Inputs, Trouble, is_meant
from probate.server.admission.attributes import Attributes
from probate.server.api import Api
from probate.server.policies import requests
from probate.server.policies.requests import Shown
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
        about = requests.request(write, Shown(write.at.resource, write.kind, object_, old))
        given = Inputs(object_, old, about, None, None, requests.authorizer(self._api, write))
        key = tuple((str(one.get("name")), str(one.get("expression"))) for one in conditions)
        try:
            return await self._api.apart(MEDIUM, lambda: is_meant(_compiled(key), given))
        except Trouble as trouble:
            raise Failed(str(trouble)) from None


@lru_cache(maxsize=512)
def _compiled(conditions: tuple[tuple[str, str], ...]) -> tuple[Expression, ...]:
    written = [{"name": name, "expression": source} for name, source in conditions]
    return compiled_conditions(written, Speaks(has_namespace=False))
