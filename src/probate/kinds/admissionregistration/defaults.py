"""Webhooks and policies that are asked before a change: what they match, and what happens if they do not answer."""

from __future__ import annotations

from probate.kinds.apiextensions.defaults import default_client_config
from probate.kinds.shared.object_fields import Object, child, fill, items, made


def default_validating_webhooks(configuration: Object) -> None:
    """Fill a ValidatingWebhookConfiguration."""
    for webhook in items(configuration, "webhooks"):
        _default_webhook(webhook)


def default_mutating_webhooks(configuration: Object) -> None:
    """Fill a MutatingWebhookConfiguration."""
    for webhook in items(configuration, "webhooks"):
        _default_webhook(webhook)
        fill(webhook, reinvocationPolicy="Never")


def default_policy(policy: Object) -> None:
    """Fill a ValidatingAdmissionPolicy or a MutatingAdmissionPolicy."""
    if (spec := made(policy, "spec")) is not None:
        fill(spec, failurePolicy="Fail")
        _default_match(child(spec, "matchConstraints"))


def default_policy_binding(binding: Object) -> None:
    """Fill the binding of such a policy."""
    if (spec := made(binding, "spec")) is not None:
        _default_match(child(spec, "matchResources"))


def _default_webhook(webhook: Object) -> None:
    fill(webhook, failurePolicy="Fail", matchPolicy="Equivalent", timeoutSeconds=10)
    made(webhook, "namespaceSelector")
    made(webhook, "objectSelector")
    _default_rules(webhook, "rules")
    if (config := made(webhook, "clientConfig")) is not None:
        default_client_config(config)


def _default_match(match: Object | None) -> None:
    if match is None:
        return
    fill(match, matchPolicy="Equivalent")
    made(match, "namespaceSelector")
    made(match, "objectSelector")
    _default_rules(match, "resourceRules")
    _default_rules(match, "excludeResourceRules")


def _default_rules(parent: Object, key: str) -> None:
    for rule in items(parent, key):
        fill(rule, scope="*")
