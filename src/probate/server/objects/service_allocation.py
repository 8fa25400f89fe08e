"""Allocates cluster IPs and node ports of Services: checks requested ones and chooses those that are missing.

Another Service may take a chosen value before the write is committed. Then the guard of `service_claims` refuses the transaction,
and the next attempt chooses again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from probate.api import field_errors
from probate.api.catalog import Resource
from probate.api.field_errors import FieldError, FieldPath
from probate.api.names import Chooser
from probate.api.objects import Object
from probate.core import errors
from probate.kinds.core.services.allocation_pools import Pool, Pools
from probate.kinds.core.services.strategy import has_cluster_ip, has_health_check_node_port, has_node_ports
from probate.server import api_errors
from probate.server.storage import service_claims
from probate.store import pagination
from probate.store.contract import Store

_SPEC = FieldPath("spec")
_GUESS_ROUNDS = 4
"""Rounds of random guesses before all allocated values are read."""


class _Request(NamedTuple):
    """A value of a pool that the Service requests explicitly."""

    pool: Pool
    text: str
    path: FieldPath
    value: Any


class ServiceAllocator:
    """Allocates from these pools. `random` chooses among the free values."""

    def __init__(self, store: Store, pools: Pools, random: Chooser) -> None:
        self._store = store
        self._pools = pools
        self._random = random

    async def allocate(self, resource: Resource, object_: Object, held: Collection[str] = ()) -> None:
        """Allocates the values that the Service lacks. Raises `Invalid` if it requests a value that is out of range or taken.

        `held` are the values that it already has.
        """
        if not service_claims.has_claims(resource):
            return
        spec = object_["spec"]
        await self._check(resource, object_, held)
        # The spec is copied, not modified: the next attempt must not see what this attempt has chosen.
        if has_cluster_ip(spec) and not spec.get("clusterIP"):
            address = await self._choose(self._pools.addresses, ())
            spec = {**spec, "clusterIP": address, "clusterIPs": [address]}
        object_["spec"] = await self._with_ports(spec)

    async def _check(self, resource: Resource, object_: Object, held: Collection[str]) -> None:
        requests = [request for request in self._requests(object_["spec"]) if request.pool.prefix + request.text not in held]
        found = await self._store.read_many([request.pool.prefix + request.text for request in requests]) if requests else []
        problems = [_request_problem(request, is_taken=entry is not None) for request, entry in zip(requests, found, strict=True)]
        if any(problems):
            raise api_errors.invalid(
                resource, object_["metadata"]["name"], [problem for problem in problems if problem is not None]
            )

    def _requests(self, spec: Object) -> Iterator[_Request]:
        addresses = spec.get("clusterIPs") or []
        for address in addresses if addresses[:1] != ["None"] else ():
            yield _Request(self._pools.addresses, address, _SPEC / "clusterIPs", addresses)
        for index, port in enumerate(spec.get("ports") or ()):
            if number := port.get("nodePort"):
                yield _Request(self._pools.node_ports, str(number), _SPEC / "ports" / index / "nodePort", number)
        if number := spec.get("healthCheckNodePort"):
            yield _Request(self._pools.node_ports, str(number), _SPEC / "healthCheckNodePort", number)

    async def _with_ports(self, spec: Object) -> Object:
        """Allocates node ports. Ports with the same number and different protocols share a node port."""
        pool, ports = self._pools.node_ports, spec.get("ports") or []
        taken = {str(port["nodePort"]) for port in ports if port.get("nodePort")}
        if has_node_ports(spec):
            known = {port["port"]: port["nodePort"] for port in reversed(ports) if port.get("nodePort")}
            for number in dict.fromkeys(port["port"] for port in ports if port["port"] not in known):
                taken.add(chosen := await self._choose(pool, taken))
                known[number] = int(chosen)
            spec = {**spec, "ports": [{**port, "nodePort": port.get("nodePort") or known[port["port"]]} for port in ports]}
        if has_health_check_node_port(spec) and not spec.get("healthCheckNodePort"):
            spec = {**spec, "healthCheckNodePort": int(await self._choose(pool, taken))}
        return spec

    async def _choose(self, pool: Pool, excluded: Collection[str]) -> str:
        """Returns a value of the pool that is free now."""
        for _ in range(_GUESS_ROUNDS):
            guesses = [guess for guess in pool.guesses(self._random) if guess not in excluded]
            found = await self._store.read_many([pool.prefix + guess for guess in guesses])
            free = [guess for guess, entry in zip(guesses, found, strict=True) if entry is None]
            if free:
                return free[0]
        taken = {
            record.key.removeprefix(pool.prefix)
            async for page in pagination.pages(self._store, pool.prefix)
            for record in page.records
        }
        remaining = pool.one_left(taken.union(excluded), self._random)
        if remaining is None:
            noun = "a serviceIP" if pool.is_of_addresses else "a nodePort"
            raise errors.StoreFull(f"failed to allocate {noun}: range is full. Delete services that are not needed any more")
        return remaining


def _request_problem(request: _Request, *, is_taken: bool) -> FieldError | None:
    """Returns the problem of a request in Kubernetes' words, or None if the value is available."""
    pool, noun = request.pool, "IP" if request.pool.is_of_addresses else "port"
    if not pool.has(request.text):
        reason = f"provided {noun} is not in the valid range. The range of valid {noun}s is {pool.name}"
    elif is_taken:
        reason = f"provided {noun} is already allocated"
    else:
        return None
    return field_errors.invalid(
        request.path, request.value, f"failed to allocate IP {request.text}: {reason}" if pool.is_of_addresses else reason
    )
