"""NewObjects: tells the verbs of the physical view to which tenant a new object will belong, before it is stored.

Only a hint, based on cached states: the transaction decides (`ownership_store`).
"""

from __future__ import annotations

from probate.api import tenants
from probate.api.gvk import GroupResource
from probate.api.objects import Object
from probate.api.tenants import TENANT_LABEL
from probate.server.request import Target
from probate.server.storage import storage_keys
from probate.tenants.ownership import owned_transactions, prefixed_keys, tenant_errors
from probate.tenants.ownership.prefixed_keys import PrefixedKeys
from probate.tenants.ownership.tenant_states import TenantStates


class NewObjects:
    """The new objects of one store. Implements `server.storage.tenancy.Tenancy`."""

    def __init__(self, keys: PrefixedKeys, states: TenantStates) -> None:
        self._keys = keys
        self._states = states

    async def tenant_of_new(self, target: Target, object_: Object) -> str:
        """Implements the protocol. A name that is generated has the prefix of a tenant if `generateName` has it."""
        meta = object_["metadata"]
        name = meta.get("name") or meta.get("generateName") or ""
        key = storage_keys.object_key(target.resource, target.namespace or "", name)
        label = (meta.get("labels") or {}).get(TENANT_LABEL) or ""
        prefixes, claimant = self._keys.tenants_in(key), _claimant(key, object_)
        if not prefixes and not claimant and not label:
            return ""
        states = await self._states.states((*prefixes, claimant) if claimant else prefixes)
        owner = owned_transactions.owner_of_new(key, label, prefixes=prefixes, claimant=claimant, states=states)
        if owner and not states[owner].is_open:
            raise tenant_errors.terminating(key, owner)
        return owner

    def is_of_platform(self, _resource: GroupResource, _name: str) -> bool:
        """Implements the protocol: this is the view of the platform itself."""
        return False


def _claimant(key: str, object_: Object) -> str:
    """Returns the tenant of a volume's claim, if that tenant exists."""
    if not prefixed_keys.is_volume(key):
        return ""
    claim = (object_.get("spec") or {}).get("claimRef")
    return tenants.id_in_name(claim.get("namespace") or "") if claim else ""
