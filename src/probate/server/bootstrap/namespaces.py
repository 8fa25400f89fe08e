"""Creates the namespaces that clients expect in every cluster."""

from __future__ import annotations

from probate.core import errors
from probate.server.codec import object_codec
from probate.server.context import ServerContext
from probate.server.objects import managed_fields, write
from probate.server.request import Target
from probate.server.storage import storage_keys
from probate.store.contract import Txn, create

MANAGER = "probate"
NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


async def ensure_namespaces(api: ServerContext) -> None:
    """Creates the namespaces that are missing. Several servers may do so at once."""
    namespaces = api.catalog.find("", "v1", "namespaces")
    if namespaces is None:
        raise errors.InvariantViolation("there is no kind Namespace")

    owners = managed_fields.entries_on_create(api.kinds, Target(namespaces, ""), MANAGER)

    def create_namespace(name: str) -> Txn:
        object_ = {"metadata": {"name": name}}
        write.prepare_create(api, namespaces, object_, "", owners)
        return create(storage_keys.namespace_key(name), object_codec.stored(object_))

    await api.store.commit_many([create_namespace(name) for name in NAMESPACES])
