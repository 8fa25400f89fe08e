"""How a definition's versions become each other: not at all, or by a webhook.

The paths are those of Kubernetes' internal form: `webhookClientConfig` and `conversionReviewVersions` stand in `conversion`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import SplitResult, urlsplit

from probate.api import webhook_config
from probate.api.field_errors import Path, Problem, forbidden, invalid, not_supported, required

STRATEGIES = ("None", "Webhook")


def conversion_problems(conversion: dict[str, Any] | None, path: Path) -> Iterator[Problem]:
    """What is wrong with the conversion."""
    if conversion is None:
        return
    strategy, webhook = conversion.get("strategy") or "", conversion.get("webhook") or {}
    client, reviews = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if not strategy:
        yield required(path / "strategy")
    elif strategy not in STRATEGIES:
        yield not_supported(path / "strategy", strategy, STRATEGIES)
    if strategy == "Webhook":
        yield from _check_client(client, path / "webhookClientConfig")
        yield from webhook_config.check_review_versions(reviews, path / "conversionReviewVersions")
        return
    for field, given in (("webhookClientConfig", client is not None), ("conversionReviewVersions", bool(reviews))):
        if given:
            yield forbidden(path / field, "should not be set when strategy is not set to Webhook")


def _check_client(client: dict[str, Any] | None, path: Path) -> Iterator[Problem]:
    if client is None:
        yield required(path, "required when strategy is set to Webhook")
        return
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield required(path, "exactly one of url or service is required")
    elif url is not None:
        yield from (invalid(path / "url", url, one) for one in _url_faults(url))
    elif service is not None:
        yield from _check_service(service, path / "service")


def _url_faults(url: str) -> list[str]:
    try:
        parts = urlsplit(url)
        faults = _part_faults(parts)
    except ValueError as error:
        return [f"url must be a valid URL: {error}; desired format: https://host[/path]"]
    return faults


def _part_faults(parts: SplitResult) -> list[str]:
    faults = []
    if parts.scheme != "https":
        faults.append("'https' is the only allowed URL scheme; desired format: https://host[/path]")
    if not parts.hostname:
        faults.append("host must be specified; desired format: https://host[/path]")
    if parts.username is not None:
        faults.append("user information is not permitted in the URL")
    if parts.fragment:
        faults.append("fragments are not permitted in the URL")
    if parts.query:
        faults.append("query parameters are not permitted in the URL")
    return faults


def _check_service(service: dict[str, Any], path: Path) -> Iterator[Problem]:
    for field in ("name", "namespace"):
        if not service.get(field):
            yield required(path / field, f"service {field} is required")
    port = service.get("port")
    if port is not None and not 0 < port < 65536:
        yield invalid(path / "port", port, "must be between 1 and 65535, inclusive")
    if service.get("path") is not None:
        yield from (invalid(path / "path", service["path"], one) for one in webhook_config.path_faults(service["path"]))
