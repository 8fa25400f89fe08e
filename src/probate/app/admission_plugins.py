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
from probate.tenants.admission.tenant_admission import RunningContexts, TenantAdmission
from probate.tenants.quotas.tenant_quota_plugins import PhysicalTenantQuotaPlugin
from probate.tenants.quotas.tenant_quotas import TenantQuotas


async def install(context: ServerContext, enabled: Collection[str] = ()) -> None:
    """Installs all plugins and reads their configuration. `enabled` names those that are off by default."""
    configuration, chain = context.admission.configuration, context.admission.chain
    context.admission.priority.subscribe_to(configuration)
    context.admission.runtime_class.subscribe_to(configuration)
    for kind in default_classes.KINDS:
        DefaultClassPlugin(kind, chain, context.offloader).subscribe_to(configuration)
    context.admission.volume_expansion.subscribe_to(configuration)
    context.flow_classifier.subscribe_to(configuration)
    LimitRangerPlugin(chain, context.offloader).subscribe_to(configuration)
    _install_webhooks(context)
    _install_quotas(context)
    _install_policies(context)
    if service_account_plugin.NAME in enabled:
        ServiceAccountPlugin(
            context.store, context.kinds, clock=context.clock, random=context.random, offloader=context.offloader
        ).enable_in(chain)
    await configuration.refresh_all()


def install_tenant_admission(context: ServerContext, contexts: RunningContexts) -> None:
    """Lets what tenants have configured apply to writes of their objects in the physical view."""
    TenantAdmission(context.admission.chain, contexts).subscribe_to(context.admission.configuration)


def install_tenant_quotas(context: ServerContext) -> TenantQuotas:
    """Returns the quotas of tenants, which apply while the caller follows them."""
    quotas = TenantQuotas(context.store, context.clock, context.offloader)
    PhysicalTenantQuotaPlugin(context.admission.chain, quotas).follow()
    return quotas


def _install_webhooks(context: ServerContext) -> None:
    chain, conditions = context.admission.chain, CelMatchConditions(context.authorizer, context.offloader)
    caller = WebhookCaller(context.webhook_client, context.webhook_services, new_uid=context.new_uid, offloader=context.offloader)
    converter = WriteConverter(context.version_converter.between)
    mutating, validating = (WebhookIndex(context.store, context.kinds, conditions) for _ in range(2))
    for plugin in (
        MutatingWebhookPlugin(chain, mutating, caller, converter=converter, offloader=context.offloader),
        ValidatingWebhookPlugin(chain, validating, caller, converter=converter),
    ):
        plugin.subscribe_to(context.admission.configuration)


def _install_quotas(context: ServerContext) -> None:
    plugin = ResourceQuotaPlugin(context.admission.chain, context.store, clock=context.clock, offloader=context.offloader)
    plugin.subscribe_to(context.admission.configuration)
    context.on_close(plugin.close)


def _install_policies(context: ServerContext) -> None:
    chain, inputs = context.admission.chain, PolicyInputs(context.store, context.kinds, context.authorizer)
    mutating, validating = (PolicyIndex(policy_type, context.store, context.kinds) for policy_type in ("mutating", "validating"))
    for plugin in (
        MutatingPolicies(chain, mutating, inputs, kinds=context.kinds, offloader=context.offloader),
        ValidatingPolicies(chain, validating, inputs, offloader=context.offloader),
    ):
        plugin.subscribe_to(context.admission.configuration)
