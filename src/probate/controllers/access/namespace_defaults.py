"""Creates and restores default objects: each namespace's service account `default` and ConfigMap `kube-root-ca.crt`, and, in
kube-system, the ConfigMap `extension-apiserver-authentication`.

If a client deletes or changes one of them, it is created again or restored. On a server without a certificate the ConfigMaps exist
with empty bundles, since clients wait for the ConfigMaps in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from probate.api.objects import Object
from probate.client.informers import NamespacedName, name_of
from probate.client.objects import GroupVersionResource, is_terminating
from probate.client.resources import NAMESPACES, is_deleting
from probate.controllers.runtime.context import Context
from probate.controllers.runtime.workers import Workers
from probate.controllers.runtime.workqueue import Result
from probate.core import errors

SERVICE_ACCOUNTS = GroupVersionResource("", "v1", "serviceaccounts")
CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
DEFAULT_ACCOUNT = "default"
ROOT = "kube-root-ca.crt"
CERTIFICATE = "ca.crt"
AUTHENTICATION = "extension-apiserver-authentication"
CLIENT_AUTHORITIES = "client-ca-file"
SYSTEM = "kube-system"
RESYNC_SECONDS = 60.0
"""How often the bundle is compared again: its files may have changed."""

DESCRIPTION = "kubernetes.io/description"
DESCRIPTION_TEXT = "Contains a CA bundle with which clients in the cluster verify the API server."


class DefaultObject(NamedTuple):
    """An object that each namespace has, or only `namespace`.

    `data` returns the data that it must hold, if any, and `annotations` are those that it must have. The data can change, and is
    compared again after `resync_seconds`.
    """

    component: str
    kind: GroupVersionResource
    name: str
    data: Callable[[], dict[str, str]] | None = None
    annotations: Mapping[str, str] = MappingProxyType({})
    namespace: str = ""
    resync_seconds: float | None = None


def start_service_accounts(context: Context) -> list[Workers]:
    """Starts the controller of the service accounts."""
    account = DefaultObject("serviceaccount-controller", SERVICE_ACCOUNTS, DEFAULT_ACCOUNT)
    return [NamespaceDefaults(account, context).workers]


def start_root_certificates(context: Context) -> list[Workers]:
    """Starts the controllers of the ConfigMaps with the authorities of the server and of its clients."""
    server = context.server

    def server_authority() -> dict[str, str]:
        return {CERTIFICATE: server.certificate}

    def client_authorities() -> dict[str, str]:
        bundle = server.client_authorities()
        return {CLIENT_AUTHORITIES: bundle} if bundle else {}

    defaults = (
        DefaultObject(
            "root-ca-certificate-publisher-controller", CONFIG_MAPS, ROOT, server_authority, {DESCRIPTION: DESCRIPTION_TEXT}
        ),
        DefaultObject(
            "cluster-authentication-info-controller",
            CONFIG_MAPS,
            AUTHENTICATION,
            client_authorities,
            namespace=SYSTEM,
            resync_seconds=RESYNC_SECONDS,
        ),
    )
    return [NamespaceDefaults(default, context).workers for default in defaults]


class NamespaceDefaults:
    """Maintains one default object. Its keys are the names of namespaces."""

    def __init__(self, default: DefaultObject, context: Context) -> None:
        self._default = default
        self._namespaces = context.informers.for_resource(NAMESPACES)
        self._objects = context.informers.for_resource(default.kind, default.name)
        self._objects.share_equal_parts("data")
        self.workers = Workers(default.component, self._sync, context.clock)
        self._namespaces.add_event_handler(self._on_namespace)
        self._objects.add_event_handler(self._on_object)

    def _on_namespace(self, old: Object | None, new: Object | None) -> None:
        if old is None and new is not None:
            self.workers.add(name_of(new))

    def _on_object(self, old: Object | None, new: Object | None) -> None:
        changed = new or old
        if changed is not None:
            self.workers.add(NamespacedName("", changed["metadata"]["namespace"]))

    async def _sync(self, name: NamespacedName) -> Result:
        namespace, default = self._namespaces.get(name), self._default
        if namespace is None or is_deleting(namespace) or default.namespace not in {"", name.name}:
            return None
        current = self._objects.get(NamespacedName(name.name, default.name))
        if current is None:
            await self._create(name.name)
        elif not is_deleting(current) and not self._is_correct(current):
            annotations = {**default.annotations, **(current["metadata"].get("annotations") or {})}
            meta = {**current["metadata"], "annotations": annotations}
            await self._objects.update({**current, "metadata": meta, **self._data()})
        return default.resync_seconds

    def _is_correct(self, current: Object) -> bool:
        """Whether the object holds the data and has the annotations that it must; other fields are left to clients."""
        annotations = current["metadata"].get("annotations") or {}
        has_data = all((current.get(field) or {}) == value for field, value in self._data().items())
        return has_data and self._default.annotations.keys() <= annotations.keys()

    def _data(self) -> Object:
        data = self._default.data
        return {} if data is None else {"data": data()}

    async def _create(self, namespace: str) -> None:
        default = self._default
        meta = {"name": default.name, **({"annotations": default.annotations} if default.annotations else {})}
        try:
            await self._objects.create(namespace, {"metadata": meta, **self._data()})
        except errors.AlreadyExists:
            return  # its watch event is on the way
        except errors.ApiError as error:
            if not is_terminating(error) and not isinstance(error, errors.NotFound):
                raise
