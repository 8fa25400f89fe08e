"""Which plugins there are. Each sleeps until something is configured for it."""

from __future__ import annotations

from probate.server.api import Api
from probate.server.quotas import limits
from probate.server.quotas import plugin as quotas
from probate.server.webhooks import plugins as webhooks


async def install(api: Api) -> None:
    """Let them have their say, from what is configured now on."""
    limits.install(api)
    webhooks.install(api)
    quotas.install(api)
    await api.configured.refresh_all()
