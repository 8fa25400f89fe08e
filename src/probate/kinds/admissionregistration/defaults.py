"""Sets the defaults of admission webhooks and policies: what they match, and what happens if they fail."""

from __future__ import annotations

from probate.api.objects import Object
from probate.kinds.apiextensions.defaults import default_client_config
from probate.kinds.shared.object_fields import child, ensure_child, fill, items


def default_validating_webhooks(configuration: Object) -> None:
    """Sets the defaults of a ValidatingWebhookConfiguration."""
    for webhook in items(configuration, "webhooks"):
        _default_webhook(webhook)


def default_mutating_webhooks(configuration: Object) -> None:
    """Sets the defaults of a MutatingWebhookConfiguration."""
    for webhook in items(configuration, "webhooks"):
        _default_webhook(webhook)
        fill(webhook, reinvocationPolicy="Never")


def default_policy(policy: Object) -> None:
    """Sets the defaults of a ValidatingAdmissionPolicy or a MutatingAdmissionPolicy."""
    if (spec := ensure_child(policy, "spec")) is not None:
        fill(spec, failurePolicy="Fail")
        _default_match(child(spec, "matchConstraints"))


def default_policy_binding(binding: Object) -> None:
    """Sets the defaults of the binding of an admission policy."""
    if (spec := ensure_child(binding, "spec")) is not None:
        _default_match(child(spec, "matchResources"))


def _default_webhook(webhook: Object) -> None:
    fill(webhook, failurePolicy="Fail", matchPolicy="Equivalent", timeoutSeconds=10)
    ensure_child(webhook, "namespaceSelector")
    ensure_child(webhook, "objectSelector")
    _default_rules(webhook, "rules")
    if (config := ensure_child(webhook, "clientConfig")) is not None:
        default_client_config(config)


def _default_match(match: Object | None) -> None:
    if match is None:
        return
    fill(match, matchPolicy="Equivalent")
    ensure_child(match, "namespaceSelector")
    ensure_child(match, "objectSelector")
    _default_rules(match, "resourceRules")
    _default_rules(match, "excludeResourceRules")


def _default_rules(parent: Object, key: str) -> None:
    for rule in items(parent, key):
        fill(rule, scope="*")
