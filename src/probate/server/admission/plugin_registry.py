"""Which plugins there are. Each sleeps until something is configured for it, or until it is switched on."""

from __future__ import annotations

from collections.abc import Collection

from probate.server.admission import default_classes, priority, runtime_class, service_accounts, volume_expansion
from probate.server.admission.policies.match_conditions import CelConditions
from probate.server.admission.policies.mutating_policies import MutatingPolicies
from probate.server.admission.policies.validating_policies import ValidatingPolicies
from probate.server.admission.quotas import limit_ranger
from probate.server.admission.quotas import resource_quota as quotas
from probate.server.admission.webhooks import webhook_plugins as webhooks
from probate.server.context import Api


async def install(api: Api, chosen: Collection[str] = ()) -> None:
    """Let them have their say, from what is configured now on. `chosen` are those that are off unless somebody asks for them."""
    api.conditions = CelConditions(api)
    priority.install(api)
    runtime_class.install(api)
    default_classes.install(api)
    volume_expansion.install(api)
    api.flows.listen(api.configured)
    limit_ranger.install(api)
    webhooks.install(api)
    quotas.install(api)
    MutatingPolicies(api)
    ValidatingPolicies(api)
    if service_accounts.NAME in chosen:
        service_accounts.install(api)
    await api.configured.refresh_all()
