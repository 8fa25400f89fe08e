"""Which plugins there are. Each sleeps until something is configured for it."""

from __future__ import annotations

from probate.server import priorities
from probate.server.api import Api
from probate.server.policies.conditions import CelConditions
from probate.server.policies.mutating import MutatingPolicies
from probate.server.policies.validating import ValidatingPolicies
from probate.server.quotas import limits
from probate.server.quotas import plugin as quotas
from probate.server.webhooks import plugins as webhooks


async def install(api: Api) -> None:
    """Let them have their say, from what is configured now on."""
    api.conditions = CelConditions(api)
    priorities.install(api)
    api.flows.listen(api.configured)
    limits.install(api)
    webhooks.install(api)
    quotas.install(api)
    MutatingPolicies(api)
    ValidatingPolicies(api)
    await api.configured.refresh_all()
