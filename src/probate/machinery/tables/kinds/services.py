"""Services and the endpoints behind them."""

from __future__ import annotations

from typing import Any

from probate.machinery.tables import ages, fields, notation
from probate.machinery.tables.columns import AGE, NAME, Object, Printer, text, wide


def _service(service: Object, now: float) -> list[Any]:
    return [
        fields.name(service),
        fields.text(service, "spec", "type"),
        _cluster_ip(service),
        _external_ip(service),
        ",".join(_port(one) for one in fields.objects(service, "spec", "ports")) or notation.NONE,
        ages.of(service, now),
        notation.labels(fields.at(service, "spec", "selector")),
    ]


def _cluster_ip(service: Object) -> str:
    ips = fields.texts(service, "spec", "clusterIPs")
    return ips[0] if ips else fields.text(service, "spec", "clusterIP") or notation.NONE


def _external_ip(service: Object) -> str:
    ips = ",".join(fields.texts(service, "spec", "externalIPs"))
    match fields.text(service, "spec", "type"):
        case "ClusterIP" | "NodePort":
            return ips or notation.NONE
        case "LoadBalancer":
            return ",".join(filter(None, (load_balancer(service), ips))) or "<pending>"
        case "ExternalName":
            return fields.text(service, "spec", "externalName")
    return "<unknown>"


def load_balancer(object_: Object) -> str:
    """Where a service or an ingress can be reached from outside, each address once."""
    ingress = fields.objects(object_, "status", "loadBalancer", "ingress")
    return ",".join(sorted({fields.text(one, "ip") or fields.text(one, "hostname") for one in ingress} - {""}))


def _port(port: Object) -> str:
    number, protocol = fields.number(port, "port"), fields.text(port, "protocol")
    node_port = fields.number(port, "nodePort")
    return f"{number}:{node_port}/{protocol}" if node_port > 0 else f"{number}/{protocol}"


def _endpoints(endpoints: Object, now: float) -> list[Any]:
    subsets = fields.objects(endpoints, "subsets")
    addresses = [address for subset in subsets for address in _addresses(subset)]
    return [fields.name(endpoints), notation.cut(addresses) if subsets else notation.NONE, ages.of(endpoints, now)]


def _addresses(subset: Object) -> list[str]:
    ips = [fields.text(one, "ip") for one in fields.objects(subset, "addresses")]
    ports = fields.objects(subset, "ports")
    if not ports:  # a headless service may have none
        return ips
    return [f"{_in_brackets(ip)}:{fields.number(port, 'port')}" for port in ports for ip in ips]


def _in_brackets(ip: str) -> str:
    return f"[{ip}]" if ":" in ip else ip


def _endpoint_slice(endpoint_slice: Object, now: float) -> list[Any]:
    ports = [_endpoint_port(one) for one in fields.objects(endpoint_slice, "ports")]
    endpoints = fields.objects(endpoint_slice, "endpoints")
    addresses = [address for one in endpoints for address in fields.texts(one, "addresses")]
    return [
        fields.name(endpoint_slice),
        fields.text(endpoint_slice, "addressType"),
        notation.cut(ports) or notation.UNSET,
        notation.cut(addresses) or notation.UNSET,
        ages.of(endpoint_slice, now),
    ]


def _endpoint_port(port: Object) -> str:
    number = port.get("port")
    return str(number) if isinstance(number, int) else fields.text(port, "name", default="*")


PRINTERS = {
    ("", "services"): Printer(
        (
            NAME,
            text("Type", "How the service can be reached: ClusterIP, NodePort, LoadBalancer or ExternalName."),
            text("Cluster-IP", "The service's address inside the cluster."),
            text("External-IP", "The service's addresses for the outside."),
            text("Port(s)", "The service's ports, each with its node port if it has one."),
            AGE,
            wide("Selector", "The labels of the pods behind the service."),
        ),
        _service,
    ),
    ("", "endpoints"): Printer((NAME, text("Endpoints", "The addresses and ports that are ready."), AGE), _endpoints),
    ("discovery.k8s.io", "endpointslices"): Printer(
        (
            NAME,
            text("AddressType", "Whether the addresses are IPv4, IPv6 or names."),
            text("Ports", "The ports that every endpoint has."),
            text("Endpoints", "The endpoints' addresses."),
            AGE,
        ),
        _endpoint_slice,
    ),
}
