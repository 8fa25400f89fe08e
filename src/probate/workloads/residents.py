"""What every namespace has from its first moment on: the service account that pods run as, and what they know the server by.

Whoever deletes one of them gets a new one, and what somebody changes in it is put right. A server without a certificate has nothing
to say of itself: then there is no ConfigMap.
"""

from __future__ import annotations

from typing import NamedTuple

from probate import errors
from probate.client.objects import Kind, Object, has_cause
from probate.control.informers import Name, name_of
from probate.control.kinds import NAMESPACES, is_deleting
from probate.control.means import Means
from probate.control.workers import Workers

ACCOUNTS = Kind("", "v1", "serviceaccounts")
CONFIG_MAPS = Kind("", "v1", "configmaps")
ACCOUNT = "default"
ROOT = "kube-root-ca.crt"
CERTIFICATE = "ca.crt"

DESCRIPTION = "kubernetes.io/description"
DESCRIBED = "The certificate that the API server's own is checked against by those in the cluster who ask it something."


class Resident(NamedTuple):
    """An object that each namespace has. `content` is what it must hold, `notes` the annotations it must have some of."""

    component: str
    kind: Kind
    name: str
    content: Object
    notes: dict[str, str]


def start_accounts(means: Means) -> list[Workers]:
    """The workers that keep the service accounts."""
    return [Residents(Resident("service-account-controller", ACCOUNTS, ACCOUNT, {}, {}), means).workers]


def start_certificates(means: Means) -> list[Workers]:
    """The workers that keep the ConfigMaps with the certificate. There are none if there is no certificate."""
    if not means.server.certificate:
        return []
    content, notes = {"data": {CERTIFICATE: means.server.certificate}}, {DESCRIPTION: DESCRIBED}
    return [Residents(Resident("root-ca-certificate-publisher", CONFIG_MAPS, ROOT, content, notes), means).workers]


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
        if namespace is None or is_deleting(namespace):
            return None
        there = self._objects.get(Name(name.name, wanted.name))
        if there is None:
            await self._make(name.name)
        elif not is_deleting(there) and not self._is_right(there):
            meta = {**there["metadata"], "annotations": {**wanted.notes, **(there["metadata"].get("annotations") or {})}}
            await self._objects.update({**there, "metadata": meta, **wanted.content})
        return None

    def _is_right(self, there: Object) -> bool:
        """Whether it holds what it must; what else it says of itself is everybody's business."""
        notes = there["metadata"].get("annotations") or {}
        return self._resident.content.items() <= there.items() and self._resident.notes.keys() <= notes.keys()

    async def _make(self, namespace: str) -> None:
        wanted = self._resident
        meta = {"name": wanted.name, **({"annotations": wanted.notes} if wanted.notes else {})}
        try:
            await self._objects.create(namespace, {"metadata": meta, **wanted.content})
        except errors.AlreadyExists:
            return  # its news is on the way
        except errors.ApiError as error:
            if not has_cause(error, "NamespaceTerminating") and not isinstance(error, errors.NotFound):
                raise
