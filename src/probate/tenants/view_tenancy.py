"""ViewTenancy: what the verbs have to know about tenants in the view of one of them, where no object has the tenant's label."""

from __future__ import annotations

from probate.api.gvk import GroupResource
from probate.api.objects import Object
from probate.server.request import Target
from probate.tenants.store_view.platform_objects import PlatformObjects


class ViewTenancy:
    """Implements `server.storage.tenancy.Tenancy`. `platform` knows what is shared now."""

    def __init__(self, platform: PlatformObjects) -> None:
        self._platform = platform

    async def tenant_of_new(self, _target: Target, _object: Object) -> str:
        """Implements the protocol. The store adds the label below the view."""
        return ""

    def is_of_platform(self, resource: GroupResource, name: str) -> bool:
        """Implements the protocol."""
        return self._platform.snapshot.is_shared_object(resource, name)
