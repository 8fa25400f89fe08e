"""WebhookCaller: sends a write to a webhook as an AdmissionReview, and returns its checked response."""

from __future__ import annotations

import logging
from collections.abc import Callable

from probate.core import errors
from probate.core.aio.large_work import Offloader
from probate.core.logs import facts
from probate.server.admission.admission_attributes import Attributes
from probate.server.admission.webhooks import admission_review
from probate.server.admission.webhooks.admission_review import Unusable, VersionedWrite, WebhookResponse
from probate.server.admission.webhooks.webhook_match import Webhook
from probate.server.webhooks import endpoints
from probate.server.webhooks.endpoints import Services, Unreachable
from probate.server.webhooks.https_client import Outbound

log = logging.getLogger(__name__)


class WebhookCaller:
    """Calls webhooks. `services` says how to reach the services that their configurations name."""

    def __init__(
        self,
        outbound: Outbound,
        services: Services,
        *,
        new_uid: Callable[[], str],
        offloader: Offloader,
    ) -> None:
        self._outbound = outbound
        self._services = services
        self._new_uid = new_uid
        self._offloader = offloader

    async def call(
        self, webhook: Webhook, write: Attributes, converted: VersionedWrite, *, may_patch: bool = False
    ) -> WebhookResponse | None:
        """Returns the webhook's response; None if it failed and its failurePolicy is Ignore. An `ApiError` refuses the write."""
        if write.request.is_dry_run and webhook.has_side_effects:
            raise errors.BadRequest(f'admission webhook "{webhook.name}" does not support dry run')
        try:
            response = await self._review(webhook, write, converted, may_patch=may_patch)
        except (Unreachable, Unusable) as error:
            if webhook.fails_closed:
                raise errors.ApiError(f'Internal error occurred: failed calling webhook "{webhook.name}": {error}') from None
            log.warning("webhook call failed, ignoring webhook", extra=facts(webhook=webhook.name, error=str(error)))
            return None
        write.request.warn(*response.warnings)
        write.request.annotations |= {f"{webhook.name}/{name}": value for name, value in response.annotations.items()}
        if not response.is_allowed:
            raise admission_review.denial(webhook.name, response.status)
        return response

    async def _review(self, webhook: Webhook, write: Attributes, converted: VersionedWrite, *, may_patch: bool) -> WebhookResponse:
        uid = self._new_uid()
        content = await self._post(webhook, write, converted, uid=uid)
        try:
            return await self._offloader.offload_if_large(
                len(content), lambda: admission_review.decode_response(content, uid, webhook.version, may_patch=may_patch)
            )
        except Unusable as error:
            raise Unusable(f"received invalid webhook response: {error}") from None

    async def _post(self, webhook: Webhook, write: Attributes, converted: VersionedWrite, *, uid: str) -> bytes:
        try:
            endpoint = endpoints.find(webhook.client_config, self._services)
        except Unreachable as error:
            raise Unreachable(f"failed to call webhook: Post {error}") from None
        body = await self._offloader.offload_if_large(
            write.size, lambda: admission_review.encode_request(write, converted, uid=uid, version=webhook.version)
        )
        try:
            return await self._outbound.post(endpoint, body, seconds=webhook.timeout_seconds)
        except Unreachable as error:
            url = f"{endpoint.url}?timeout={webhook.timeout_seconds:g}s"
            raise Unreachable(f'failed to call webhook: Post "{url}": {error}') from None
