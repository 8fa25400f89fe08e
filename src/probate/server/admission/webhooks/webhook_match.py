"""Matches webhooks to writes, by operation, resource and labels. (`webhook_match_conditions` adds their CEL conditions.)"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from probate.api.catalog import Catalog, Resource
from probate.api.field_errors import FieldPath
from probate.api.objects import Object
from probate.api.selectors import label_selectors
from probate.api.selectors.label_selectors import LabelSelector
from probate.server.request import Target
from probate.server.storage import storage_keys


class Webhook(NamedTuple):
    """A webhook of a configuration, compiled."""

    key: str  # unique
    name: str
    rules: tuple[Object, ...]
    is_exact: bool
    namespaces: LabelSelector
    objects: LabelSelector
    conditions: tuple[Object, ...]
    fails_closed: bool
    timeout_seconds: float
    has_side_effects: bool  # also on a dry run; v1 refuses to configure such webhooks
    version: str  # of the AdmissionReviews that it is sent
    is_reinvoked: bool
    client_config: Object


def compile_webhooks(configurations: Mapping[str, Object]) -> list[Webhook]:
    """Returns all webhooks of these configurations, in the order in which they are called: by the configurations' names."""
    ordered = sorted(configurations.values(), key=lambda configuration: str(configuration["metadata"]["name"]))
    return [_webhook(item, number, webhook) for item in ordered for number, webhook in enumerate(item.get("webhooks") or ())]


def _webhook(configuration: Object, number: int, webhook: Object) -> Webhook:
    versions = webhook.get("admissionReviewVersions") or ["v1"]
    return Webhook(
        key=f"{configuration['metadata']['name']}/{number}/{webhook['name']}",
        name=webhook["name"],
        rules=tuple(webhook.get("rules") or ()),
        is_exact=webhook.get("matchPolicy") == "Exact",
        namespaces=_selector(webhook.get("namespaceSelector")),
        objects=_selector(webhook.get("objectSelector")),
        conditions=tuple(webhook.get("matchConditions") or ()),
        fails_closed=webhook.get("failurePolicy") != "Ignore",
        timeout_seconds=float(webhook.get("timeoutSeconds") or 10),
        has_side_effects=webhook.get("sideEffects") not in {"None", "NoneOnDryRun"},
        version=next((version for version in versions if version in {"v1", "v1beta1"}), "v1"),
        is_reinvoked=webhook.get("reinvocationPolicy") == "IfNeeded",
        client_config=webhook.get("clientConfig") or {},
    )


def _selector(selector: Object | None) -> LabelSelector:
    return label_selectors.compile_object(selector or {}, FieldPath("selector"))[0]


def resource_for(webhook: Webhook, operation: str, at: Target, *, catalog: Catalog) -> Resource | None:
    """Returns the resource as which the webhook matches the write: its own, or another version that the rules name."""
    if _is_matched(webhook.rules, operation, at.resource, subresource=at.subresource):
        return at.resource
    if webhook.is_exact:
        return None
    versions = other_versions(at.resource, catalog)
    return next((item for item in versions if _is_matched(webhook.rules, operation, item, subresource=at.subresource)), None)


def other_versions(resource: Resource, catalog: Catalog) -> Iterable[Resource]:
    """Returns all other versions of the same resource."""
    prefix = storage_keys.resource_range(resource)
    same_kind = (item for item in catalog if item.kind == resource.kind and item is not resource)
    return [item for item in same_kind if storage_keys.resource_range(item) == prefix]


def _is_matched(rules: Iterable[Object], operation: str, resource: Resource, *, subresource: str) -> bool:
    return any(
        _contains(rule.get("operations"), operation)
        and _contains(rule.get("apiGroups"), resource.group)
        and _contains(rule.get("apiVersions"), resource.version)
        and any(_matches_resource(pattern, resource.plural, subresource) for pattern in rule.get("resources") or ())
        and rule.get("scope", "*") in {"*", "Namespaced" if resource.is_namespaced else "Cluster"}
        for rule in rules
    )


def _contains(patterns: Iterable[str] | None, value: str) -> bool:
    return any(pattern in {"*", value} for pattern in patterns or ())


def _matches_resource(pattern: str, plural: str, subresource: str) -> bool:
    """Matches a resource pattern: `pods` and `*` exclude subresources, `pods/*` includes them, `*/scale` is one of any resource."""
    resource, _, pattern_subresource = pattern.partition("/")
    return resource in {"*", plural} and pattern_subresource in {"*", subresource}
