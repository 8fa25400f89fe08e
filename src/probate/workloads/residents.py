"""What every namespace has from its first moment on: the service account that pods run as, and what they know the server by.

Whoever deletes one of them gets a new one. Who the server is may not be known yet: then there is nothing to say.
"""

from __future__ import annotations

from collections.abc import Callable
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

Certificate = Callable[[], str]
"""The certificate that the server is known by, as PEM; empty if there is none."""


class Resident(NamedTuple):
    """An object that each namespace has. `content` is what it must hold; None: it need not be there at all."""

    component: str
    kind: Kind
    name: str
    content: Callable[[], Object | None]


def nobody() -> str:
    """The certificate of a server that has none."""
    return ""


def start_accounts(means: Means) -> list[Workers]:
    """The workers that keep the service accounts."""
    return [Residents(Resident("service-account-controller", ACCOUNTS, ACCOUNT, dict), means).workers]


def start_certificates(means: Means, certificate: Certificate = nobody) -> list[Workers]:
    """The workers that keep the ConfigMaps with the certificate. There are none if there will never be one."""
    if certificate is nobody:
        return []

    def content() -> Object | None:
        found = certificate()
        return {"data": {CERTIFICATE: found}} if found else None

    return [Residents(Resident("root-ca-certificate-publisher", CONFIG_MAPS, ROOT, content), means).workers]


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
        namespace, content = self._namespaces.get(name), self._resident.content()
        if namespace is None or is_deleting(namespace) or content is None:
            return None
        there = self._objects.get(Name(name.name, self._resident.name))
        if there is None:
            await self._make(name.name, content)
        elif not content.items() <= there.items() and not is_deleting(there):
            await self._objects.update({**there, **content})
        return None

    async def _make(self, namespace: str, content: Object) -> None:
        try:
            await self._objects.create(namespace, {"metadata": {"name": self._resident.name}, **content})
        except errors.AlreadyExists:
            return  # its news is on the way
        except errors.ApiError as error:
            if not has_cause(error, "NamespaceTerminating") and not isinstance(error, errors.NotFound):
                raise
