"""The admission webhook plugins: mutating webhooks are called one after the other, validating ones all at once.

If a webhook fails to answer properly, its failurePolicy says whether the write is refused or the webhook is ignored. Webhooks are
never called for webhook configurations: otherwise a broken webhook could never be removed.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, NamedTuple

from probate.api.catalog import Catalog, Resource
from probate.api.gvk import GroupResource
from probate.api.objects import Object
from probate.core import errors
from probate.core.logs import facts
from probate.lib import jsonpatch
from probate.server.admission import phases
from probate.server.admission.admission_attributes import NO_REQUIREMENTS, Attributes, CommitRequirements, Reinvocation
from probate.server.admission.chain import PluginOrder
from probate.server.admission.webhooks import admission_review, webhook_match
from probate.server.admission.webhooks.admission_review import Unusable, VersionedWrite, WebhookResponse
from probate.server.admission.webhooks.webhook_match import Webhook
from probate.server.admission.webhooks.webhook_match_conditions import EvaluationFailed
from probate.server.codec import object_codec, version_conversion
from probate.server.context import ServerContext
from probate.server.request import Target
from probate.server.storage import storage_keys
from probate.server.webhooks import endpoints
from probate.server.webhooks.endpoints import Unreachable

GROUP = "admissionregistration.k8s.io"
MUTATING, VALIDATING = "mutatingwebhookconfigurations", "validatingwebhookconfigurations"

log = logging.getLogger(__name__)


def install(api: ServerContext) -> None:
    """Subscribes both plugins to their configurations."""
    mutating_plugin, validating_plugin = MutatingWebhookPlugin(api), ValidatingWebhookPlugin(api)
    for plural, order, plugin in (
        (MUTATING, PluginOrder.MUTATING_WEBHOOKS, mutating_plugin),
        (VALIDATING, PluginOrder.VALIDATING_WEBHOOKS, validating_plugin),
    ):
        api.admission.configuration.subscribe(GroupResource(GROUP, plural), plugin.configure(order))


class _Call(NamedTuple):
    """A webhook to call, and the write as it expects it."""

    webhook: Webhook
    converted: VersionedWrite


class _WebhookPlugin:
    """What both plugins share."""

    may_patch = False

    def __init__(self, api: ServerContext) -> None:
        self._api = api
        self._webhooks: list[Webhook] = []
        self._catalog: Catalog | None = None
        self._cached: dict[tuple[str, str, str, str, str], list[tuple[Webhook, Resource]]] = {}

    def configure(self, order: PluginOrder) -> Any:
        def listener(configurations: dict[str, Object]) -> None:
            self._webhooks, self._catalog = webhook_match.compile_webhooks(configurations), None
            if self._webhooks:
                self._api.admission.chain.enable(order, self)
            else:
                self._api.admission.chain.disable(order)

        return listener

    def handles(self, operation: str, at: Target) -> bool:
        return bool(self._candidates(operation, at))

    def _candidates(self, operation: str, at: Target) -> list[tuple[Webhook, Resource]]:
        """Returns the webhooks whose rules match the write.

        Fast path: cached until the served resources or the configuration change.
        """
        if self._catalog is not self._api.catalog:
            self._catalog, self._cached = self._api.catalog, {}
        resource = at.resource
        key = (operation, resource.group, resource.version, resource.plural, at.subresource)
        matching = self._cached.get(key)
        if matching is None:
            matching = self._cached[key] = [] if _is_exempt(resource) else list(self._find(operation, at))
        return matching

    def _find(self, operation: str, at: Target) -> Any:
        for webhook in self._webhooks:
            resource = webhook_match.resource_for(webhook, operation, at, self._api.catalog)
            if resource is not None:
                yield webhook, resource

    async def _matches(self, webhook: Webhook, write: Attributes, converted: VersionedWrite) -> bool:
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
        record = await self._api.store.read(storage_keys.namespace_key(write.namespace)) if write.namespace else None
        return (object_codec.meta(record.value).labels or {}) if record is not None else {}

    async def _conditions_match(self, webhook: Webhook, write: Attributes, converted: VersionedWrite) -> bool:
        try:
            if self._api.match_conditions is None:
                raise EvaluationFailed("this server evaluates no match conditions")  # noqa: TRY301
            return await self._api.match_conditions.all_match(webhook.conditions, write, converted.object, converted.old)
        except EvaluationFailed as error:
            if webhook.fails_closed:
                raise errors.Forbidden(f'the match conditions of webhook "{webhook.name}" cannot be evaluated: {error}') from None
            log.warning("webhook ignored, cannot evaluate match conditions", extra=facts(webhook=webhook.name, error=str(error)))
            return False

    async def _convert_write(self, write: Attributes, resource: Resource) -> VersionedWrite:
        if resource is write.at.resource or write.kind != write.at.resource.group_version_kind:
            return VersionedWrite(resource, write.kind, write.object, write.old)
        object_, old = [await self._convert_object(object_, write.at.resource, resource) for object_ in (write.object, write.old)]
        return VersionedWrite(resource, resource.group_version_kind, object_, old)

    async def _convert_object(self, object_: Object | None, source: Resource, target: Resource) -> Object | None:
        if object_ is None:
            return None
        if source.is_converted:
            return await version_conversion.between(self._api, object_, source, target)
        return phases.convert_version(object_, source, target)

    async def _call_or_ignore(self, webhook: Webhook, write: Attributes, converted: VersionedWrite) -> WebhookResponse | None:
        """Returns the webhook's response; None if it failed and its failurePolicy is Ignore."""
        if write.request.is_dry_run and webhook.has_side_effects:
            raise errors.BadRequest(f'admission webhook "{webhook.name}" does not support dry run')
        try:
            return await self._call_webhook(webhook, write, converted)
        except (Unreachable, Unusable) as error:
            if webhook.fails_closed:
                raise errors.ApiError(f'Internal error occurred: failed calling webhook "{webhook.name}": {error}') from None
            log.warning("webhook call failed, ignoring webhook", extra=facts(webhook=webhook.name, error=str(error)))
            return None

    async def _call_webhook(self, webhook: Webhook, write: Attributes, converted: VersionedWrite) -> WebhookResponse:
        uid = self._api.new_uid()
        try:
            endpoint = endpoints.find(webhook.client_config, self._api.webhook_services)
        except Unreachable as error:
            raise Unreachable(f"failed to call webhook: Post {error}") from None
        body = await self._api.offload_if_large(
            write.size, lambda: admission_review.encode_request(write, converted, uid, webhook.version)
        )
        try:
            content = await self._api.webhook_client.post(endpoint, body, seconds=webhook.timeout_seconds)
        except Unreachable as error:
            url = f"{endpoint.url}?timeout={webhook.timeout_seconds:g}s"
            raise Unreachable(f'failed to call webhook: Post "{url}": {error}') from None
        try:
            response = await self._api.offload_if_large(
                len(content), lambda: admission_review.decode_response(content, uid, webhook.version, may_patch=self.may_patch)
            )
        except Unusable as error:
            raise Unusable(f"received invalid webhook response: {error}") from None
        write.request.warn(*response.warnings)
        write.request.annotations |= {f"{webhook.name}/{name}": value for name, value in response.annotations.items()}
        if not response.is_allowed:
            raise admission_review.denial(webhook.name, response.status)
        return response


class ValidatingWebhookPlugin(_WebhookPlugin):
    """May refuse a write."""

    async def validate(self, write: Attributes) -> CommitRequirements:
        candidates = self._candidates(write.operation, write.at)
        calls = [_Call(webhook, await self._convert_write(write, resource)) for webhook, resource in candidates]
        matching = [call for call in calls if await self._matches(call.webhook, write, call.converted)]
        if len(matching) == 1:
            await self._call_or_ignore(matching[0].webhook, write, matching[0].converted)
        elif matching:
            pending = (self._call_or_ignore(call.webhook, write, call.converted) for call in matching)
            results = await asyncio.gather(*pending, return_exceptions=True)
            for error in [result for result in results if isinstance(result, BaseException)]:
                raise error
        return NO_REQUIREMENTS


class MutatingWebhookPlugin(_WebhookPlugin):
    """May refuse a write, or change its object."""

    may_patch = True

    async def mutate(self, write: Attributes) -> None:
        state = write.reinvocation_state.setdefault(MUTATING, Reinvocation())
        if write.is_reinvocation and write.object is not state.last_object:
            state.due |= state.reinvocable
        for webhook, resource in self._candidates(write.operation, write.at):
            if write.is_reinvocation and webhook.key not in state.due:
                continue
            converted = await self._convert_write(write, resource)
            if not await self._matches(webhook, write, converted):
                continue
            response = await self._call_or_ignore(webhook, write, converted)
            if response is not None and response.patch is not None and await self._patch(webhook, write, converted, response.patch):
                state.due |= state.reinvocable
                write.needs_reinvocation = True
            if webhook.is_reinvoked:
                state.reinvocable.add(webhook.key)
        state.last_object = write.object

    async def _patch(self, webhook: Webhook, write: Attributes, converted: VersionedWrite, patch: Any) -> bool:
        """Returns whether the patch has changed the object."""
        before = write.object
        if before is None or converted.object is None:
            raise errors.ApiError(
                f'Internal error occurred: admission webhook "{webhook.name}" attempted to modify the object, '
                "which is not supported for this operation"
            )
        size, document = write.size, converted.object
        try:
            changed = await self._api.offload_if_large(size, lambda: jsonpatch.apply(document, patch))
            _check_kind(changed, converted)
            if converted.resource is not write.at.resource and converted.kind == converted.resource.group_version_kind:
                changed = await self._convert_object(changed, converted.resource, write.at.resource) or changed
            await self._api.offload_if_large(size, lambda: write.replace_object(changed))
        except (errors.BadRequest, errors.Invalid, errors.TooLarge) as error:
            message = f'Internal error occurred: the patch of webhook "{webhook.name}" cannot be used: {error}'
            raise errors.ApiError(message) from None
        return write.object != before


def _check_kind(changed: Object, converted: VersionedWrite) -> None:
    kind = (changed.get("apiVersion"), changed.get("kind"))
    expected = (str(converted.resource.group_version), converted.resource.kind)
    if converted.kind != converted.resource.group_version_kind:
        expected = (f"{converted.kind.group}/{converted.kind.version}".lstrip("/"), converted.kind.kind)
    if kind != expected:
        raise errors.BadRequest(f"it makes a {expected[0]} {expected[1]} something else")


def _labels(object_: Object) -> dict[str, str]:
    return (object_.get("metadata") or {}).get("labels") or {}


def _is_subject_to_namespace_selector(write: Attributes) -> bool:
    """Returns whether a namespace selector applies. It ignores cluster-scoped objects; a namespace is in itself."""
    return write.at.resource.is_namespaced or write.at.resource.group_resource == storage_keys.NAMESPACES


def _is_exempt(resource: Resource) -> bool:
    return resource.group == GROUP and resource.plural in {MUTATING, VALIDATING}
