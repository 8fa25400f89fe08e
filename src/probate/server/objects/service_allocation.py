"""Addresses and node ports of services: what one asks for must be there and free, and what one needs is chosen.

What is chosen may be taken before it is written. Then the write is refused (`claims`), and the next try chooses again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from probate.api import field_errors
from probate.api.catalog import Resource
from probate.api.field_errors import Path, Problem
from probate.core import errors
from probate.kinds.core.services.allocation_pools import Pool
from probate.kinds.core.services.strategy import has_address, has_health_check, has_node_ports
from probate.server import api_errors
from probate.server.context import Api
from probate.server.storage import service_claims
from probate.store import paging

Object = dict[str, Any]

_SPEC = Path("spec")
_ROUNDS = 4
"""Of guessing, before all that is taken is looked through."""


class _Wish(NamedTuple):
    """Something of a pool that the service asks for by name."""

    pool: Pool
    text: str
    path: Path
    value: Any


async def settle(api: Api, resource: Resource, object_: Object, held: Collection[str] = ()) -> None:
    """Give the service what it needs, besides what it holds. `Invalid` if it asks for what is not to be had."""
    if not service_claims.may_have(resource):
        return
    spec = object_["spec"]
    await _check(api, resource, object_, held)
    # A new spec, not a changed one: the next try must not find what this one has chosen.
    if has_address(spec) and not spec.get("clusterIP"):
        address = await _choose(api, api.pools.addresses, ())
        spec = {**spec, "clusterIP": address, "clusterIPs": [address]}
    object_["spec"] = await _with_ports(api, spec)


async def _check(api: Api, resource: Resource, object_: Object, held: Collection[str]) -> None:
    wishes = [one for one in _wishes(api, object_["spec"]) if one.pool.prefix + one.text not in held]
    found = await api.store.read_many([one.pool.prefix + one.text for one in wishes]) if wishes else []
    wrong = [_refused(wish, is_taken=entry is not None) for wish, entry in zip(wishes, found, strict=True)]
    if any(wrong):
        raise api_errors.invalid(resource, object_["metadata"]["name"], [one for one in wrong if one is not None])


def _wishes(api: Api, spec: Object) -> Iterator[_Wish]:
    addresses = spec.get("clusterIPs") or []
    for address in addresses if addresses[:1] != ["None"] else ():
        yield _Wish(api.pools.addresses, address, _SPEC / "clusterIPs", addresses)
    for index, port in enumerate(spec.get("ports") or ()):
        if number := port.get("nodePort"):
            yield _Wish(api.pools.node_ports, str(number), _SPEC / "ports" / index / "nodePort", number)
    if number := spec.get("healthCheckNodePort"):
        yield _Wish(api.pools.node_ports, str(number), _SPEC / "healthCheckNodePort", number)


def _refused(wish: _Wish, *, is_taken: bool) -> Problem | None:
    """Why it cannot be had, in Kubernetes' words; None if it can."""
    pool, what = wish.pool, "IP" if wish.pool.is_of_addresses else "port"
    if not pool.has(wish.text):
        why = f"provided {what} is not in the valid range. The range of valid {what}s is {pool.name}"
    elif is_taken:
        why = f"provided {what} is already allocated"
    else:
        return None
    return field_errors.invalid(wish.path, wish.value, f"failed to allocate IP {wish.text}: {why}" if pool.is_of_addresses else why)


async def _with_ports(api: Api, spec: Object) -> Object:
    """Each port has one on the nodes, the same for the same number in several protocols."""
    pool, ports = api.pools.node_ports, spec.get("ports") or []
    taken = {str(port["nodePort"]) for port in ports if port.get("nodePort")}
    if has_node_ports(spec):
        known = {port["port"]: port["nodePort"] for port in reversed(ports) if port.get("nodePort")}
        for number in dict.fromkeys(port["port"] for port in ports if port["port"] not in known):
            taken.add(chosen := await _choose(api, pool, taken))
            known[number] = int(chosen)
        spec = {**spec, "ports": [{**port, "nodePort": port.get("nodePort") or known[port["port"]]} for port in ports]}
    if has_health_check(spec) and not spec.get("healthCheckNodePort"):
        spec = {**spec, "healthCheckNodePort": int(await _choose(api, pool, taken))}
    return spec


async def _choose(api: Api, pool: Pool, besides: Collection[str]) -> str:
    """One that is free now."""
    for _ in range(_ROUNDS):
        guesses = [one for one in pool.guesses(api.random) if one not in besides]
        found = await api.store.read_many([pool.prefix + one for one in guesses])
        free = [guess for guess, entry in zip(guesses, found, strict=True) if entry is None]
        if free:
            return free[0]
    taken = {record.key.removeprefix(pool.prefix) async for page in paging.pages(api.store, pool.prefix) for record in page.records}
    left = pool.one_left(taken.union(besides), api.random)
    if left is None:
        what = "a serviceIP" if pool.is_of_addresses else "a nodePort"
        raise errors.StoreFull(f"failed to allocate {what}: range is full. Delete services that are not needed any more")
    return left
