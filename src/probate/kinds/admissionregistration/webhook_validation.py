"""Validates the webhooks of both webhook configurations."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from probate.api import names
from probate.api.crds import webhook_config
from probate.api.field_errors import FieldPath, invalid, required
from probate.api.policies.environment import OptionalVariables
from probate.kinds.admissionregistration.policy_validation import check_conditions
from probate.kinds.admissionregistration.resource_rules import check_resource_rule
from probate.kinds.shared.field_checks import (
    Problems,
    Value,
    check_between,
    check_choice,
    check_given,
    check_port,
    check_rule,
    check_unique,
    child,
    each,
    text,
    texts,
)
from probate.kinds.shared.selector_validation import check_label_selector


def check_validating(configuration: Value) -> Problems:
    """Validates a ValidatingWebhookConfiguration."""
    yield from _check_webhooks(configuration)


def check_mutating(configuration: Value) -> Problems:
    """Validates a MutatingWebhookConfiguration."""
    yield from _check_webhooks(configuration)
    for webhook, at in each(configuration, FieldPath(), "webhooks"):
        yield from check_choice(webhook, at, "reinvocationPolicy", supported=("Never", "IfNeeded"))


def _check_webhooks(configuration: Value) -> Problems:
    seen: set[Any] = set()
    for webhook, at in each(configuration, FieldPath(), "webhooks"):
        yield from _check_name(text(webhook, "name"), at / "name")
        yield from check_unique(webhook, at, "name", seen=seen)
        yield from _check_webhook(webhook, at)
        yield from _check_client(child(webhook, "clientConfig"), at / "clientConfig")
        for rule, place in each(webhook, at, "rules"):
            yield from check_resource_rule(rule, place)
        yield from check_conditions(webhook, at, speaks=OptionalVariables(has_namespace=False))


def _check_webhook(webhook: Value, path: FieldPath) -> Problems:
    yield from webhook_config.validate_review_versions(texts(webhook, "admissionReviewVersions"), path / "admissionReviewVersions")
    yield from check_choice(webhook, path, "failurePolicy", supported=("Ignore", "Fail"))
    yield from check_choice(webhook, path, "matchPolicy", supported=("Exact", "Equivalent"))
    yield from check_choice(webhook, path, "sideEffects", supported=("None", "NoneOnDryRun"), is_required=True)
    yield from check_between(webhook, path, "timeoutSeconds", low=1, high=30)
    yield from check_label_selector(webhook.get("namespaceSelector"), path / "namespaceSelector")
    yield from check_label_selector(webhook.get("objectSelector"), path / "objectSelector")


def _check_name(name: str, path: FieldPath) -> Problems:
    if not name:
        yield required(path)
        return
    found = list(check_rule(name, path, names.validate_dns_subdomain))
    yield from found
    if not found and name.count(".") < 2:
        yield invalid(path, name, "should be a domain with at least three segments separated by dots")


def _check_client(config: Value, path: FieldPath) -> Problems:
    url, service = text(config, "url"), config.get("service")
    if bool(url) == (service is not None):
        yield required(path, "exactly one of url or service is required")
    elif url:
        yield from _check_url(url, path / "url")
    else:
        yield from check_given(service or {}, path / "service", "name", "namespace")
        yield from check_port((service or {}).get("port") or 443, path / "service" / "port")
        route = (service or {}).get("path")
        if route is not None:
            yield from (invalid(path / "service" / "path", route, fault) for fault in webhook_config.validate_service_path(route))


def _check_url(url: str, path: FieldPath) -> Problems:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        yield required(path, f"url must be a valid URL: {error}")
        return
    if parts.scheme != "https":
        yield invalid(path, parts.scheme, "'https' is the only allowed URL scheme")
    if not parts.netloc:
        yield invalid(path, parts.netloc, "host must be specified")
    if parts.username is not None:
        yield invalid(path, parts.username, "user information is not permitted in the URL")
    if parts.query or parts.fragment:
        yield invalid(path, parts.query or parts.fragment, "query parameters and fragments are not permitted in the URL")
