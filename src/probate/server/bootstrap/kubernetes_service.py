"""The server as a Service of its own cluster: `kubernetes` in `default`, which clients take for granted.

It has the first address that Services can have, unless somebody else has that one already. Where the server is reached is in the
EndpointSlice and the Endpoints of the same name. An address that only this machine can use leads nowhere for others, so then they
name none, unless the server was told another one (`--advertise-address`).
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from typing import Any

import orjson

from probate.core import errors
from probate.server.context import Api
from probate.server.local_transport import Local

Object = dict[str, Any]

log = logging.getLogger(__name__)

NAME = "kubernetes"
PLACE = "namespaces/default"
SERVICES, ENDPOINTS = f"/api/v1/{PLACE}/services", f"/api/v1/{PLACE}/endpoints"
SLICES = f"/apis/discovery.k8s.io/v1/{PLACE}/endpointslices"
PORT = {"name": "https", "protocol": "TCP"}


def service(address: str, port: int) -> Object:
    """The Service, at this address of the cluster; at any if it is empty."""
    spec = {"type": "ClusterIP", "ports": [{**PORT, "port": 443, "targetPort": port}], "sessionAffinity": "None"}
    labels = {"component": "apiserver", "provider": "kubernetes"}
    return {"metadata": {"name": NAME, "labels": labels}, "spec": {**spec, **({"clusterIP": address} if address else {})}}


def slice_(host: str, port: int) -> Object:
    """The EndpointSlice of a server that listens there."""
    is_reached, family = _is_reached(host), "IPv6" if ":" in host else "IPv4"
    endpoints = [{"addresses": [host], "conditions": {"ready": True}}] if is_reached else []
    labels = {"kubernetes.io/service-name": NAME}
    return {
        "metadata": {"name": NAME, "labels": labels},
        "addressType": family,
        "endpoints": endpoints,
        "ports": [{**PORT, "port": port}],
    }


def endpoints(host: str, port: int) -> Object:
    """The Endpoints of a server that listens there."""
    subsets = [{"addresses": [{"ip": host}], "ports": [{**PORT, "port": port}]}] if _is_reached(host) else []
    labels = {"endpointslice.kubernetes.io/skip-mirror": "true"}
    return {"metadata": {"name": NAME, "labels": labels}, "subsets": subsets}


def check(advertised: str) -> None:
    """`CannotOpen` if others cannot be told to go to the address that the server was given for that."""
    try:
        is_wrong = bool(advertised) and not _is_reached(advertised)
    except ValueError:
        is_wrong = True
    if is_wrong:
        wrong = f"--advertise-address {advertised} is no address at which others reach the server"
        raise errors.CannotOpen(f"{wrong}. Give an IP address of this machine, or of what is before it, and no port")


async def ensure(api: Api, host: str, port: int) -> None:
    """See to it that all three are there and say so. Several servers may do that at once, and none fails to start for it."""
    await asyncio.gather(
        _ensure_service(api, port),
        _ensure_told(api, SLICES, slice_(host, port)),
        _ensure_told(api, ENDPOINTS, endpoints(host, port)),
    )


async def _ensure_service(api: Api, port: int) -> None:
    pool = api.pools.addresses
    wanted, anywhere = service(pool.spelled(pool.numbers[0]), port), service("", port)
    is_new = not await _is_there(api, SERVICES)
    if is_new and (await _is_made(api, SERVICES, wanted) or await _is_made(api, SERVICES, anywhere)):
        return
    await _change(api, SERVICES, {"spec": {"ports": wanted["spec"]["ports"]}})


async def _ensure_told(api: Api, path: str, wanted: Object) -> None:
    if await _is_there(api, path) or not await _is_made(api, path, wanted):
        await _change(api, path, {name: value for name, value in wanted.items() if name != "metadata"})


async def _is_there(api: Api, path: str) -> bool:
    code, _ = await Local(api).send("GET", f"{path}/{NAME}", {}, b"", "application/json")
    return code == 200


async def _is_made(api: Api, path: str, object_: Object) -> bool:
    code, _ = await Local(api).send("POST", path, {}, orjson.dumps(object_), "application/json")
    return code == 201


async def _change(api: Api, path: str, change: Object) -> None:
    code, body = await Local(api).send("PATCH", f"{path}/{NAME}", {}, orjson.dumps(change), "application/merge-patch+json")
    if code != 200:
        log.warning("%s/%s does not tell where the server is: %s", path, NAME, orjson.loads(body).get("message"))


def _is_reached(host: str) -> bool:
    """Whether others than this machine can be told to go there."""
    address = ipaddress.ip_address(host)
    return not address.is_loopback and not address.is_unspecified and not address.is_link_local
