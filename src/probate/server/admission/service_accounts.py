"""Pods run as service accounts: as `default` if they do not say, and only as one that is there. Off unless it is asked for.

The account is read for every pod. That of a new namespace is made a moment after it by a controller: pods that come first wait.
"""

from __future__ import annotations

from typing import Any

import orjson

from probate.api import names
from probate.core import errors
from probate.kinds.core.pods import service_account as accounts
from probate.server import api_errors
from probate.server.admission.attributes import CREATE, NO_TERMS, UPDATE, Attributes, Terms
from probate.server.admission.chain import Place
from probate.server.codec import object_codec
from probate.server.context import Api
from probate.server.request import Target
from probate.server.storage import storage_keys

Object = dict[str, Any]

NAME = "ServiceAccount"
TRIES, PAUSE = 10, 0.15
_WAYS = frozenset({(CREATE, ""), (UPDATE, "ephemeralcontainers")})
_NEW, _ADDED = ("initContainers", "containers"), ("ephemeralContainers",)


def install(api: Api) -> None:
    """Let pods run as accounts from now on."""
    api.admission.wake(Place.SERVICE_ACCOUNTS, ServiceAccounts(api))


class ServiceAccounts:
    """The accounts that there are."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def wants(self, operation: str, at: Target) -> bool:
        return at.resource.plural == "pods" and not at.resource.group and (operation, at.subresource) in _WAYS

    async def mutate(self, write: Attributes) -> None:
        pod = write.object
        if write.operation != CREATE or pod is None or accounts.is_mirror(pod):
            return
        account = await self._account(write, pod)
        await self._api.apart(write.size, lambda: self._give(write, pod, account))

    def _give(self, write: Attributes, pod: Object, account: Object) -> None:
        filled = orjson.loads(orjson.dumps(pod))
        accounts.give(filled, account, lambda prefix: names.generate(prefix, self._api.random))
        if filled != pod:
            write.put(filled)

    async def validate(self, write: Attributes) -> Terms:
        pod = write.object or {}
        if write.operation == CREATE and accounts.is_mirror(pod):
            why = accounts.objection_to_mirror(pod)
        else:
            account = await self._account(write, pod)
            why = accounts.objection(pod, account, *(_NEW if write.operation == CREATE else _ADDED))
        if why:
            raise _refused(write, why)
        return NO_TERMS

    async def _account(self, write: Attributes, pod: Object) -> Object:
        """The account of the pod. `Forbidden` if it is not there."""
        name = accounts.account_of(pod)
        resource = self._api.catalog.find("", "v1", "serviceaccounts")
        if resource is None:
            raise errors.InvariantViolation("there is no kind ServiceAccount")
        for attempt in range(TRIES if name == accounts.USUAL else 1):
            if attempt:
                await self._api.clock.sleep(PAUSE)
            if found := await self._api.store.read(storage_keys.of(resource, write.namespace, name)):
                return object_codec.loaded(found, resource)
        raise _refused(write, f'error looking up service account {write.namespace}/{name}: serviceaccount "{name}" not found')


def _refused(write: Attributes, why: str) -> errors.ApiError:
    name = write.name or str((write.object or {}).get("metadata", {}).get("name") or "")
    return api_errors.forbidden(write.at.resource, name, why)
