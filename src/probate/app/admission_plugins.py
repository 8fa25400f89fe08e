"""Creates the admission plugins of a server. Each is disabled until something is configured for it, or until a flag enables it."""

from __future__ import annotations

from collections.abc import Collection

from probate.server.admission import default_classes, service_account_plugin
from probate.server.admission.default_classes import DefaultClassPlugin
from probate.server.admission.policies.mutating_policies import MutatingPolicies
from probate.server.admission.policies.policy_bindings import PolicyIndex
from probate.server.admission.policies.policy_inputs import PolicyInputs
from probate.server.admission.policies.policy_match_conditions import CelMatchConditions
from probate.server.admission.policies.validating_policies import ValidatingPolicies
from probate.server.admission.quotas.limit_ranger import LimitRangerPlugin
from probate.server.admission.quotas.resource_quota import ResourceQuotaPlugin
from probate.server.admission.service_account_plugin import ServiceAccountPlugin
from probate.server.admission.webhooks.webhook_caller import WebhookCaller
from probate.server.admission.webhooks.webhook_index import WebhookIndex
from probate.server.admission.webhooks.webhook_plugins import MutatingWebhookPlugin, ValidatingWebhookPlugin
from probate.server.admission.webhooks.write_conversion import WriteConverter
from probate.server.context import ServerContext


async def install(api: ServerContext, enabled: Collection[str] = ()) -> None:
    """Installs all plugins and reads their configuration. `enabled` names those that are off by default."""
    configuration, chain = api.admission.configuration, api.admission.chain
    api.admission.priority.subscribe_to(configuration)
    api.admission.runtime_class.subscribe_to(configuration)
    for kind in default_classes.KINDS:
        DefaultClassPlugin(kind, chain, api.offloader).subscribe_to(configuration)
    api.admission.volume_expansion.subscribe_to(configuration)
    api.flow_classifier.subscribe_to(configuration)
    LimitRangerPlugin(chain, api.offloader).subscribe_to(configuration)
    _install_webhooks(api)
    _install_quotas(api)
    _install_policies(api)
    if service_account_plugin.NAME in enabled:
        ServiceAccountPlugin(api.store, api.kinds, clock=api.clock, random=api.random, offloader=api.offloader).enable_in(chain)
    await configuration.refresh_all()


def _install_webhooks(api: ServerContext) -> None:
    chain, conditions = api.admission.chain, CelMatchConditions(api.authorizer, api.offloader)
    caller = WebhookCaller(api.webhook_client, api.webhook_services, new_uid=api.new_uid, offloader=api.offloader)
    converter = WriteConverter(api.version_converter.between)
    mutating, validating = (WebhookIndex(api.store, api.kinds, conditions) for _ in range(2))
    for plugin in (
        MutatingWebhookPlugin(chain, mutating, caller, converter=converter, offloader=api.offloader),
        ValidatingWebhookPlugin(chain, validating, caller, converter=converter),
    ):
        plugin.subscribe_to(api.admission.configuration)


def _install_quotas(api: ServerContext) -> None:
    plugin = ResourceQuotaPlugin(api.admission.chain, api.store, clock=api.clock, offloader=api.offloader)
    plugin.subscribe_to(api.admission.configuration)
    api.on_close(plugin.close)


def _install_policies(api: ServerContext) -> None:
    chain, inputs = api.admission.chain, PolicyInputs(api.store, api.kinds, api.authorizer)
    mutating, validating = (PolicyIndex(policy_type, api.store, api.kinds) for policy_type in ("mutating", "validating"))
    for plugin in (
        MutatingPolicies(chain, mutating, inputs, kinds=api.kinds, offloader=api.offloader),
        ValidatingPolicies(chain, validating, inputs, offloader=api.offloader),
    ):
        plugin.subscribe_to(api.admission.configuration)
