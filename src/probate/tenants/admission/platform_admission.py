"""PlatformAdmission: the platform's policies and webhooks, for writes of tenants' users.

What an administrator configures ("no privileged pods") holds for tenants too. It sees the object as the physical view shows it, and
runs after the tenant's own policies and webhooks, whether a tenant's user writes or a controller.
"""

from __future__ import annotations

from collections.abc import Callable

from probate.core.aio.large_work import Offloader
from probate.server.admission.admission_attributes import Attributes, CommitRequirements
from probate.server.admission.chain import AdmissionChain
from probate.server.kind_registry import KindRegistry
from probate.server.request import Target
from probate.tenants.admission import other_view
from probate.tenants.admission.other_chain import OtherChain
from probate.tenants.store_view.record_converter import RecordConverter


class PlatformAdmission:
    """A plugin of the context of one tenant. `chain` and `kinds` are those of the physical view."""

    def __init__(
        self, chain: AdmissionChain, kinds: KindRegistry, names: Callable[[], RecordConverter], *, offloader: Offloader
    ) -> None:
        self._chain = chain
        self._kinds = kinds
        self._names = names
        self._offloader = offloader

    def _platform(self) -> OtherChain:
        return OtherChain(self._chain, other_view.of_platform(self._names(), self._kinds.catalog), self._offloader)

    def handles(self, operation: str, at: Target) -> bool:
        return bool(self._chain.configured) and self._platform().handles(operation, at)

    async def mutate(self, write: Attributes) -> None:
        await self._platform().mutate(write)

    async def validate(self, write: Attributes) -> CommitRequirements:
        return await self._platform().validate(write)
