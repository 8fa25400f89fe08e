"""Installs the admission plugins. Each is disabled until something is configured for it, or until a flag enables it."""

from __future__ import annotations

from collections.abc import Collection

from probate.server.admission import default_classes, service_account_plugin
from probate.server.admission.default_classes import DefaultClassPlugin
from probate.server.admission.policies.mutating_policies import MutatingPolicies
from probate.server.admission.policies.policy_match_conditions import CelMatchConditions
from probate.server.admission.policies.validating_policies import ValidatingPolicies
from probate.server.admission.quotas import limit_ranger, resource_quota
from probate.server.admission.webhooks import webhook_plugins
from probate.server.context import ServerContext


async def install(api: ServerContext, enabled: Collection[str] = ()) -> None:
    """Installs all plugins and reads their configuration. `enabled` names those that are off by default."""
    api.match_conditions = CelMatchConditions(api)
    configuration, chain = api.admission.configuration, api.admission.chain
    api.admission.priority.subscribe_to(configuration)
    api.admission.runtime_class.subscribe_to(configuration)
    for kind in default_classes.KINDS:
        DefaultClassPlugin(kind, chain, api).subscribe_to(configuration)
    api.admission.volume_expansion.subscribe_to(configuration)
    api.flow_classifier.subscribe_to(configuration)
    limit_ranger.install(api)
    webhook_plugins.install(api)
    resource_quota.install(api)
    MutatingPolicies(api)
    ValidatingPolicies(api)
    if service_account_plugin.NAME in enabled:
        service_account_plugin.install(api)
    await configuration.refresh_all()
