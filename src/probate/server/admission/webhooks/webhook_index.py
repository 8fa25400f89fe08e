"""WebhookIndex: the configured webhooks of one type, and which of them match a write."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from probate.api.catalog import Catalog, Resource
from probate.api.objects import Object
from probate.core import errors
from probate.core.logs import facts
from probate.server.admission.admission_attributes import Attributes
from probate.server.admission.webhooks import webhook_match
from probate.server.admission.webhooks.admission_review import VersionedWrite
from probate.server.admission.webhooks.webhook_match import Webhook
from probate.server.admission.webhooks.webhook_match_conditions import EvaluationFailed, MatchConditionEvaluator
from probate.server.codec import object_codec
from probate.server.kind_registry import KindRegistry
from probate.server.request import Target
from probate.server.storage import storage_keys
from probate.store.contract import Store

GROUP = "admissionregistration.k8s.io"
MUTATING, VALIDATING = "mutatingwebhookconfigurations", "validatingwebhookconfigurations"

log = logging.getLogger(__name__)


class WebhookIndex:
    """The webhooks of one type, mutating or validating."""

    def __init__(self, store: Store, kinds: KindRegistry, match_conditions: MatchConditionEvaluator) -> None:
        self._store = store
        self._kinds = kinds
        self._match_conditions = match_conditions
        self._webhooks: list[Webhook] = []
        self._catalog: Catalog | None = None
        self._cached: dict[tuple[str, str, str, str, str], list[tuple[Webhook, Resource]]] = {}

    @property
    def is_empty(self) -> bool:
        """Whether no webhook is configured."""
        return not self._webhooks

    def configure(self, configurations: dict[str, Object]) -> None:
        """Uses these configurations from now on."""
        self._webhooks, self._catalog = webhook_match.compile_webhooks(configurations), None

    def candidates(self, operation: str, at: Target) -> list[tuple[Webhook, Resource]]:
        """Returns the webhooks whose rules match the write.

        Fast path: cached until the served resources or the configuration change.
        """
        if self._catalog is not self._kinds.catalog:
            self._catalog, self._cached = self._kinds.catalog, {}
        resource = at.resource
        key = (operation, resource.group, resource.version, resource.plural, at.subresource)
        matching = self._cached.get(key)
        if matching is None:
            matching = self._cached[key] = [] if _is_exempt(resource) else list(self._find(operation, at))
        return matching

    def _find(self, operation: str, at: Target) -> Iterator[tuple[Webhook, Resource]]:
        for webhook in self._webhooks:
            resource = webhook_match.resource_for(webhook, operation, at, catalog=self._kinds.catalog)
            if resource is not None:
                yield webhook, resource

    async def matches(self, webhook: Webhook, write: Attributes, converted: VersionedWrite) -> bool:
        """Returns whether the webhook's selectors and conditions match the write."""
        is_unrestricted = webhook.namespaces.is_everything or not _is_subject_to_namespace_selector(write)
        if not is_unrestricted and not webhook.namespaces.matches(await self._namespace_labels(write)):
            return False
        objects = [object_ for object_ in (write.object, write.old) if object_ is not None]
        if not webhook.objects.is_everything and not any(webhook.objects.matches(_labels(object_)) for object_ in objects):
            return False
        return not webhook.conditions or await self._conditions_match(webhook, write, converted)

    async def _namespace_labels(self, write: Attributes) -> dict[str, str]:
        """Returns the labels of the namespace; if the object is a namespace, its own."""
        if write.at.resource.group_resource == storage_keys.NAMESPACES:
            return _labels(write.object or write.old or {})
        record = await self._store.read(storage_keys.namespace_key(write.namespace)) if write.namespace else None
        return (object_codec.meta(record.value).labels or {}) if record is not None else {}

    async def _conditions_match(self, webhook: Webhook, write: Attributes, converted: VersionedWrite) -> bool:
        try:
            return await self._match_conditions.all_match(webhook.conditions, write, object_=converted.object, old=converted.old)
        except EvaluationFailed as error:
            if webhook.fails_closed:
                raise errors.Forbidden(f'the match conditions of webhook "{webhook.name}" cannot be evaluated: {error}') from None
            log.warning("webhook ignored, cannot evaluate match conditions", extra=facts(webhook=webhook.name, error=str(error)))
            return False


def _labels(object_: Object) -> dict[str, str]:
    return (object_.get("metadata") or {}).get("labels") or {}


def _is_subject_to_namespace_selector(write: Attributes) -> bool:
    """Returns whether a namespace selector applies. It ignores cluster-scoped objects; a namespace is in itself."""
    return write.at.resource.is_namespaced or write.at.resource.group_resource == storage_keys.NAMESPACES


def _is_exempt(resource: Resource) -> bool:
    """Returns whether no webhook is called for the resource. Otherwise a broken webhook could never be removed."""
    return resource.group == GROUP and resource.plural in {MUTATING, VALIDATING}
