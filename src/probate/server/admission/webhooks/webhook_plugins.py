"""The admission webhook plugins: mutating webhooks are called one after the other, validating ones all at once.

If a webhook fails to answer properly, its failurePolicy says whether the write is refused or the webhook is ignored. Webhooks are
never called for webhook configurations: otherwise a broken webhook could never be removed.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar, NamedTuple

from probate.api.gvk import GroupResource
from probate.api.objects import Object
from probate.core import errors
from probate.core.aio.large_work import Offloader
from probate.lib import jsonpatch
from probate.server.admission.admission_attributes import NO_REQUIREMENTS, Attributes, CommitRequirements, Reinvocation
from probate.server.admission.chain import AdmissionChain, PluginOrder
from probate.server.admission.configuration import PluginConfiguration
from probate.server.admission.webhooks.admission_review import VersionedWrite
from probate.server.admission.webhooks.webhook_caller import WebhookCaller
from probate.server.admission.webhooks.webhook_index import GROUP, MUTATING, VALIDATING, WebhookIndex
from probate.server.admission.webhooks.webhook_match import Webhook
from probate.server.admission.webhooks.write_conversion import WriteConverter
from probate.server.request import Target


class _Call(NamedTuple):
    """A webhook to call, and the write as it expects it."""

    webhook: Webhook
    converted: VersionedWrite


class _WebhookPlugin:
    """What both plugins share."""

    order: ClassVar[PluginOrder]
    configurations: ClassVar[GroupResource]

    def __init__(self, chain: AdmissionChain, webhooks: WebhookIndex, caller: WebhookCaller, *, converter: WriteConverter) -> None:
        self._chain = chain
        self._webhooks = webhooks
        self._caller = caller
        self._converter = converter

    def subscribe_to(self, configuration: PluginConfiguration) -> None:
        """Follows the webhook configurations."""
        configuration.subscribe(self.configurations, self._configure)

    def _configure(self, configurations: dict[str, Object]) -> None:
        self._webhooks.configure(configurations)
        if self._webhooks.is_empty:
            self._chain.disable(self.order)
        else:
            self._chain.enable(self.order, self)

    def handles(self, operation: str, at: Target) -> bool:
        return bool(self._webhooks.candidates(operation, at))


class ValidatingWebhookPlugin(_WebhookPlugin):
    """May refuse a write."""

    order, configurations = PluginOrder.VALIDATING_WEBHOOKS, GroupResource(GROUP, VALIDATING)

    async def validate(self, write: Attributes) -> CommitRequirements:
        candidates = self._webhooks.candidates(write.operation, write.at)
        calls = [_Call(webhook, await self._converter.convert_write(write, resource)) for webhook, resource in candidates]
        matching = [call for call in calls if await self._webhooks.matches(call.webhook, write, call.converted)]
        if len(matching) == 1:
            await self._caller.call(matching[0].webhook, write, matching[0].converted)
        elif matching:
            pending = (self._caller.call(call.webhook, write, call.converted) for call in matching)
            results = await asyncio.gather(*pending, return_exceptions=True)
            for error in [result for result in results if isinstance(result, BaseException)]:
                raise error
        return NO_REQUIREMENTS


class MutatingWebhookPlugin(_WebhookPlugin):
    """May refuse a write, or change its object."""

    order, configurations = PluginOrder.MUTATING_WEBHOOKS, GroupResource(GROUP, MUTATING)

    def __init__(
        self,
        chain: AdmissionChain,
        webhooks: WebhookIndex,
        caller: WebhookCaller,
        *,
        converter: WriteConverter,
        offloader: Offloader,
    ) -> None:
        super().__init__(chain, webhooks, caller, converter=converter)
        self._offloader = offloader

    async def mutate(self, write: Attributes) -> None:
        state = write.reinvocation_state.setdefault(MUTATING, Reinvocation())
        if write.is_reinvocation and write.object is not state.last_object:
            state.due |= state.reinvocable
        for webhook, resource in self._webhooks.candidates(write.operation, write.at):
            if write.is_reinvocation and webhook.key not in state.due:
                continue
            converted = await self._converter.convert_write(write, resource)
            if not await self._webhooks.matches(webhook, write, converted):
                continue
            response = await self._caller.call(webhook, write, converted, may_patch=True)
            if (
                response is not None
                and response.patch is not None
                and await self._patch(webhook, write, converted=converted, patch=response.patch)
            ):
                state.due |= state.reinvocable
                write.needs_reinvocation = True
            if webhook.is_reinvoked:
                state.reinvocable.add(webhook.key)
        state.last_object = write.object

    async def _patch(self, webhook: Webhook, write: Attributes, *, converted: VersionedWrite, patch: Any) -> bool:
        """Returns whether the patch has changed the object."""
        before = write.object
        if before is None or converted.object is None:
            raise errors.ApiError(
                f'Internal error occurred: admission webhook "{webhook.name}" attempted to modify the object, '
                "which is not supported for this operation"
            )
        size, document = write.size, converted.object
        try:
            changed = await self._offloader.offload_if_large(size, lambda: jsonpatch.apply(document, patch))
            _check_kind(changed, converted)
            if converted.resource is not write.at.resource and converted.kind == converted.resource.group_version_kind:
                changed = await self._converter.convert_object(changed, converted.resource, write.at.resource)
            await self._offloader.offload_if_large(size, lambda: write.replace_object(changed))
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
        raise errors.BadRequest(f"it changes the apiVersion or kind of a {expected[0]} {expected[1]}")
