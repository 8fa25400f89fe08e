"""Objects that are always there: each namespace's service account and ConfigMap `kube-root-ca.crt`, and, in kube-system, the
ConfigMap `extension-apiserver-authentication`.

Whoever deletes one of them gets a new one, and what somebody changes in it is put right. A server without a certificate has nothing
to say of itself: then the ConfigMaps are there, and their bundles are empty, since clients wait for the ConfigMaps in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from probate.client.informers import Name, name_of
from probate.client.objects import Kind, Object, has_cause
from probate.client.resources import NAMESPACES, is_deleting
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.workers import Workers
from probate.core import errors

ACCOUNTS = Kind("", "v1", "serviceaccounts")
CONFIG_MAPS = Kind("", "v1", "configmaps")
ACCOUNT = "default"
ROOT = "kube-root-ca.crt"
CERTIFICATE = "ca.crt"
AUTHENTICATION = "extension-apiserver-authentication"
CLIENT_AUTHORITIES = "client-ca-file"
SYSTEM = "kube-system"
LOOK_SECONDS = 60.0
"""After which time the bundle is looked at again: its files may have changed."""

DESCRIPTION = "kubernetes.io/description"
DESCRIBED = "The certificate that the API server's own is checked against by those in the cluster who ask it something."


class Resident(NamedTuple):
    """An object that each namespace has, or only `namespace`.

    `data` gives what it must hold, if it must hold anything, and `notes` are the annotations it must have. What it must hold can
    change, and is looked at again after `look_seconds`.
    """

    component: str
    kind: Kind
    name: str
    data: Callable[[], dict[str, str]] | None = None
    notes: Mapping[str, str] = MappingProxyType({})
    namespace: str = ""
    look_seconds: float | None = None


def start_accounts(means: Means) -> list[Workers]:
    """The workers that keep the service accounts."""
    return [Residents(Resident("service-account-controller", ACCOUNTS, ACCOUNT), means).workers]


def start_certificates(means: Means) -> list[Workers]:
    """The workers that keep the ConfigMaps with the authorities: that of the server, and those of its clients."""
    server = means.server

    def authority() -> dict[str, str]:
        return {CERTIFICATE: server.certificate}

    def of_clients() -> dict[str, str]:
        found = server.client_authorities()
        return {CLIENT_AUTHORITIES: found} if found else {}

    residents = (
        Resident("root-ca-certificate-publisher", CONFIG_MAPS, ROOT, authority, {DESCRIPTION: DESCRIBED}),
        Resident(
            "cluster-authentication-info-controller",
            CONFIG_MAPS,
            AUTHENTICATION,
            of_clients,
            namespace=SYSTEM,
            look_seconds=LOOK_SECONDS,
        ),
    )
    return [Residents(one, means).workers for one in residents]


class Residents:
    """Keeps one of them. Its names are those of namespaces."""

    def __init__(self, resident: Resident, means: Means) -> None:
        self._resident = resident
        self._namespaces = means.informers.of(NAMESPACES)
        self._objects = means.informers.of(resident.kind, resident.name)
        self.workers = Workers(resident.component, self._sync, means.clock)
        self._namespaces.listen(self._take_namespace)
        self._objects.listen(self._take_object)

    def _take_namespace(self, old: Object | None, new: Object | None) -> None:
        if old is None and new is not None:
            self.workers.add(name_of(new))

    def _take_object(self, old: Object | None, new: Object | None) -> None:
        one = new or old
        if one is not None:
            self.workers.add(Name("", one["metadata"]["namespace"]))

    async def _sync(self, name: Name) -> float | None:
        namespace, wanted = self._namespaces.get(name), self._resident
        if namespace is None or is_deleting(namespace) or wanted.namespace not in {"", name.name}:
            return None
        there = self._objects.get(Name(name.name, wanted.name))
        if there is None:
            await self._make(name.name)
        elif not is_deleting(there) and not self._is_right(there):
            meta = {**there["metadata"], "annotations": {**wanted.notes, **(there["metadata"].get("annotations") or {})}}
            await self._objects.update({**there, "metadata": meta, **self._content()})
        return wanted.look_seconds

    def _is_right(self, there: Object) -> bool:
        """Whether it holds what it must; what else it says of itself is everybody's business."""
        notes = there["metadata"].get("annotations") or {}
        is_whole = all((there.get(field) or {}) == value for field, value in self._content().items())
        return is_whole and self._resident.notes.keys() <= notes.keys()

    def _content(self) -> Object:
        data = self._resident.data
        return {} if data is None else {"data": data()}

    async def _make(self, namespace: str) -> None:
        wanted = self._resident
        meta = {"name": wanted.name, **({"annotations": wanted.notes} if wanted.notes else {})}
        try:
            await self._objects.create(namespace, {"metadata": meta, **self._content()})
        except errors.AlreadyExists:
            return  # its news is on the way
        except errors.ApiError as error:
            if not has_cause(error, "NamespaceTerminating") and not isinstance(error, errors.NotFound):
                raise
