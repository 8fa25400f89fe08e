"""The ServiceAccount admission plugin: pods run as `default` unless they name an account, which must exist. Off by default.

The account is read for every pod. The `default` account of a new namespace is created a moment later by a controller, so pods that
come first wait for it.
"""

from __future__ import annotations

import orjson

from probate.api import names
from probate.api.names import Chooser
from probate.api.objects import Object
from probate.core import errors
from probate.core.aio.large_work import Offloader
from probate.core.clock import Clock
from probate.kinds.core.pods import service_account as accounts
from probate.server import api_errors
from probate.server.admission.admission_attributes import CREATE, NO_REQUIREMENTS, UPDATE, Attributes, CommitRequirements
from probate.server.admission.chain import AdmissionChain, PluginOrder
from probate.server.codec import object_codec
from probate.server.kind_registry import KindRegistry
from probate.server.request import Target
from probate.server.storage import storage_keys
from probate.store.contract import Store

NAME = "ServiceAccount"
ATTEMPTS, PAUSE_SECONDS = 10, 0.15
_HANDLED = frozenset({(CREATE, ""), (UPDATE, "ephemeralcontainers")})
_NEW_POD_CONTAINERS, _EPHEMERAL_CONTAINERS = ("initContainers", "containers"), ("ephemeralContainers",)


class ServiceAccountPlugin:
    """Sets and checks the service account of pods."""

    def __init__(self, store: Store, kinds: KindRegistry, *, clock: Clock, random: Chooser, offloader: Offloader) -> None:
        self._store = store
        self._kinds = kinds
        self._clock = clock
        self._random = random
        self._offloader = offloader

    def enable_in(self, chain: AdmissionChain) -> None:
        """Adds the plugin to the chain."""
        chain.enable(PluginOrder.SERVICE_ACCOUNTS, self)

    def handles(self, operation: str, at: Target) -> bool:
        return at.resource.plural == "pods" and not at.resource.group and (operation, at.subresource) in _HANDLED

    async def mutate(self, write: Attributes) -> None:
        pod = write.object
        if write.operation != CREATE or pod is None or accounts.is_mirror(pod):
            return
        account = await self._account(write, pod)
        await self._offloader.offload_if_large(write.size, lambda: self._apply(write, pod, account))

    def _apply(self, write: Attributes, pod: Object, account: Object) -> None:
        filled = orjson.loads(orjson.dumps(pod))
        accounts.apply_account(filled, account, lambda prefix: names.generate_name(prefix, self._random))
        if filled != pod:
            write.replace_object(filled)

    async def validate(self, write: Attributes) -> CommitRequirements:
        pod = write.object or {}
        if write.operation == CREATE and accounts.is_mirror(pod):
            why = accounts.mirror_pod_rejection(pod)
        else:
            account = await self._account(write, pod)
            why = accounts.secret_rejection(
                pod, account, *(_NEW_POD_CONTAINERS if write.operation == CREATE else _EPHEMERAL_CONTAINERS)
            )
        if why:
            raise _forbidden(write, why)
        return NO_REQUIREMENTS

    async def _account(self, write: Attributes, pod: Object) -> Object:
        """Returns the pod's account. Raises `Forbidden` if it does not exist."""
        name = accounts.account_name(pod)
        resource = self._kinds.catalog.find("", "v1", "serviceaccounts")
        if resource is None:
            raise errors.InvariantViolation("there is no kind ServiceAccount")
        for attempt in range(ATTEMPTS if name == accounts.DEFAULT_ACCOUNT else 1):
            if attempt:
                await self._clock.sleep(PAUSE_SECONDS)
            if record := await self._store.read(storage_keys.object_key(resource, write.namespace, name)):
                return object_codec.loaded(record, resource)
        raise _forbidden(write, f'error looking up service account {write.namespace}/{name}: serviceaccount "{name}" not found')


def _forbidden(write: Attributes, why: str) -> errors.ApiError:
    name = write.name or str((write.object or {}).get("metadata", {}).get("name") or "")
    return api_errors.forbidden(write.at.resource, name, why)
