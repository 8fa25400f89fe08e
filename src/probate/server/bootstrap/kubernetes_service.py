"""Publishes the server as a Service of its own cluster: `kubernetes` in `default`, which clients expect.

The Service gets the first address of the service range, unless another Service already has it. Its EndpointSlice and Endpoints hold
the address at which the server is reached. An address that only this machine can use is useless to others, so then they hold none,
unless `--advertise-address` gives another one.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging

import orjson

from probate.api.objects import Object
from probate.client.transport import Transport
from probate.core import errors
from probate.core.logs import facts
from probate.kinds.core.services.allocation_pools import Pool

log = logging.getLogger(__name__)

NAME = "kubernetes"
NAMESPACE_PATH = "namespaces/default"
SERVICES, ENDPOINTS = f"/api/v1/{NAMESPACE_PATH}/services", f"/api/v1/{NAMESPACE_PATH}/endpoints"
SLICES = f"/apis/discovery.k8s.io/v1/{NAMESPACE_PATH}/endpointslices"
PORT = {"name": "https", "protocol": "TCP"}


def service(address: str, port: int) -> Object:
    """Returns the Service with this cluster IP, or with any if the address is empty."""
    spec = {"type": "ClusterIP", "ports": [{**PORT, "port": 443, "targetPort": port}], "sessionAffinity": "None"}
    labels = {"component": "apiserver", "provider": "kubernetes"}
    return {"metadata": {"name": NAME, "labels": labels}, "spec": {**spec, **({"clusterIP": address} if address else {})}}


def endpoint_slice(host: str, port: int) -> Object:
    """Returns the EndpointSlice of a server that listens at this address."""
    is_reachable, family = _is_reachable(host), "IPv6" if ":" in host else "IPv4"
    endpoints = [{"addresses": [host], "conditions": {"ready": True}}] if is_reachable else []
    labels = {"kubernetes.io/service-name": NAME}
    return {
        "metadata": {"name": NAME, "labels": labels},
        "addressType": family,
        "endpoints": endpoints,
        "ports": [{**PORT, "port": port}],
    }


def endpoints(host: str, port: int) -> Object:
    """Returns the Endpoints of a server that listens at this address."""
    subsets = [{"addresses": [{"ip": host}], "ports": [{**PORT, "port": port}]}] if _is_reachable(host) else []
    labels = {"endpointslice.kubernetes.io/skip-mirror": "true"}
    return {"metadata": {"name": NAME, "labels": labels}, "subsets": subsets}


def check(advertise_address: str) -> None:
    """Raises `CannotOpen` if other machines cannot reach the server at the advertised address."""
    try:
        is_unusable = bool(advertise_address) and not _is_reachable(advertise_address)
    except ValueError:
        is_unusable = True
    if is_unusable:
        problem = f"--advertise-address {advertise_address} is not an address at which other machines can reach the server"
        raise errors.CannotOpen(
            f"{problem}. Give an IP address of this machine, or of the proxy or load balancer in front of it, without a port"
        )


async def ensure(transport: Transport, host: str, port: int, *, addresses: Pool) -> None:
    """Creates or updates all three objects. Several servers may do so at once. A failure does not keep the server from starting."""
    await asyncio.gather(
        _ensure_service(transport, port, addresses),
        _ensure_object(transport, SLICES, endpoint_slice(host, port)),
        _ensure_object(transport, ENDPOINTS, endpoints(host, port)),
    )


async def _ensure_service(transport: Transport, port: int, pool: Pool) -> None:
    desired, any_address = service(pool.spelled(pool.numbers[0]), port), service("", port)
    is_new = not await _exists(transport, SERVICES)
    if is_new and (await _create(transport, SERVICES, desired) or await _create(transport, SERVICES, any_address)):
        return
    await _change(transport, SERVICES, {"spec": {"ports": desired["spec"]["ports"]}})


async def _ensure_object(transport: Transport, path: str, desired: Object) -> None:
    if await _exists(transport, path) or not await _create(transport, path, desired):
        await _change(transport, path, {name: value for name, value in desired.items() if name != "metadata"})


async def _exists(transport: Transport, path: str) -> bool:
    code, _ = await transport.send("GET", f"{path}/{NAME}", query={}, body=b"", media="application/json")
    return code == 200


async def _create(transport: Transport, path: str, object_: Object) -> bool:
    code, _ = await transport.send("POST", path, query={}, body=orjson.dumps(object_), media="application/json")
    return code == 201


async def _change(transport: Transport, path: str, change: Object) -> None:
    code, body = await transport.send(
        "PATCH", f"{path}/{NAME}", query={}, body=orjson.dumps(change), media="application/merge-patch+json"
    )
    if code != 200:
        message = orjson.loads(body).get("message")
        log.warning("cannot publish server address", extra=facts(path=f"{path}/{NAME}", error=message))


def _is_reachable(host: str) -> bool:
    """Returns whether other machines can reach this address."""
    address = ipaddress.ip_address(host)
    return not address.is_loopback and not address.is_unspecified and not address.is_link_local
