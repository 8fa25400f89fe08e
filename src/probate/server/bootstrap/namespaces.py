"""What every cluster has from its first moment: the namespaces that clients take for granted."""

from __future__ import annotations

from probate.core import errors
from probate.server.codec import object_codec
from probate.server.context import Api
from probate.server.objects import managed_fields, write
from probate.server.request import Target
from probate.server.storage import storage_keys
from probate.store.contract import Txn, create

MANAGER = "probate"
NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


async def ensure_namespaces(api: Api) -> None:
    """Create those that are missing. Several servers may do so at once."""
    namespaces = api.catalog.find("", "v1", "namespaces")
    if namespaces is None:
        raise errors.InvariantViolation("there is no kind Namespace")

    owners = managed_fields.creator(api.kinds, Target(namespaces, ""), MANAGER)

    def made(name: str) -> Txn:
        object_ = {"metadata": {"name": name}}
        write.prepare_new(api, namespaces, object_, "", owners)
        return create(storage_keys.of_namespace(name), object_codec.stored(object_))

    await api.store.commit_many([made(name) for name in NAMESPACES])
