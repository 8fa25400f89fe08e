"""Validation of a CRD's conversion between versions: none, or a webhook.

Paths are those of Kubernetes' internal form: `webhookClientConfig` and `conversionReviewVersions` are fields of `conversion`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import SplitResult, urlsplit

from probate.api.crds import webhook_config
from probate.api.field_errors import FieldError, FieldPath, forbidden, invalid, not_supported, required

STRATEGIES = ("None", "Webhook")


def validate_conversion(conversion: dict[str, Any] | None, path: FieldPath) -> Iterator[FieldError]:
    """Validates the conversion."""
    if conversion is None:
        return
    strategy, webhook = conversion.get("strategy") or "", conversion.get("webhook") or {}
    client, reviews = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if not strategy:
        yield required(path / "strategy")
    elif strategy not in STRATEGIES:
        yield not_supported(path / "strategy", strategy, STRATEGIES)
    if strategy == "Webhook":
        yield from _validate_client_config(client, path / "webhookClientConfig")
        yield from webhook_config.validate_review_versions(reviews, path / "conversionReviewVersions")
        return
    for field, is_set in (("webhookClientConfig", client is not None), ("conversionReviewVersions", bool(reviews))):
        if is_set:
            yield forbidden(path / field, "should not be set when strategy is not set to Webhook")


def _validate_client_config(client: dict[str, Any] | None, path: FieldPath) -> Iterator[FieldError]:
    if client is None:
        yield required(path, "required when strategy is set to Webhook")
        return
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield required(path, "exactly one of url or service is required")
    elif url is not None:
        yield from (invalid(path / "url", url, message) for message in _validate_url(url))
    elif service is not None:
        yield from _validate_service(service, path / "service")


def _validate_url(url: str) -> list[str]:
    try:
        parts = urlsplit(url)
        messages = _validate_url_parts(parts)
    except ValueError as error:
        return [f"url must be a valid URL: {error}; desired format: https://host[/path]"]
    return messages


def _validate_url_parts(parts: SplitResult) -> list[str]:
    messages = []
    if parts.scheme != "https":
        messages.append("'https' is the only allowed URL scheme; desired format: https://host[/path]")
    if not parts.hostname:
        messages.append("host must be specified; desired format: https://host[/path]")
    if parts.username is not None:
        messages.append("user information is not permitted in the URL")
    if parts.fragment:
        messages.append("fragments are not permitted in the URL")
    if parts.query:
        messages.append("query parameters are not permitted in the URL")
    return messages


def _validate_service(service: dict[str, Any], path: FieldPath) -> Iterator[FieldError]:
    for field in ("name", "namespace"):
        if not service.get(field):
            yield required(path / field, f"service {field} is required")
    port = service.get("port")
    if port is not None and not 0 < port < 65536:
        yield invalid(path / "port", port, "must be between 1 and 65535, inclusive")
    if service.get("path") is not None:
        yield from (
            invalid(path / "path", service["path"], message) for message in webhook_config.validate_service_path(service["path"])
        )
