"""Which plugins there are. Each sleeps until something is configured for it, or until it is switched on."""

from __future__ import annotations

from collections.abc import Collection

from probate.server import growth, priorities, runtime_classes
from probate.server.admission import default_classes, service_accounts
from probate.server.api import Api
from probate.server.policies.conditions import CelConditions
from probate.server.policies.mutating import MutatingPolicies
from probate.server.policies.validating import ValidatingPolicies
from probate.server.quotas import limits
from probate.server.quotas import plugin as quotas
from probate.server.webhooks import plugins as webhooks


async def install(api: Api, chosen: Collection[str] = ()) -> None:
    """Let them have their say, from what is configured now on. `chosen` are those that are off unless somebody asks for them."""
    api.conditions = CelConditions(api)
    priorities.install(api)
    runtime_classes.install(api)
    default_classes.install(api)
    growth.install(api)
    api.flows.listen(api.configured)
    limits.install(api)
    webhooks.install(api)
    quotas.install(api)
    MutatingPolicies(api)
    ValidatingPolicies(api)
    if service_accounts.NAME in chosen:
        service_accounts.install(api)
    await api.configured.refresh_all()
