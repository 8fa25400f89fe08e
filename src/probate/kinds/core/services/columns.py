"""Table columns of Services, Endpoints and EndpointSlices."""

from __future__ import annotations

from typing import Any

from probate.api.objects import Object
from probate.api.printers import ages, cell_text, object_fields
from probate.api.printers.columns import AGE, NAME, Printer, text, wide


def _service(service: Object, now: float) -> list[Any]:
    return [
        object_fields.name(service),
        object_fields.text(service, "spec", "type"),
        _cluster_ip(service),
        _external_ip(service),
        ",".join(_port(one) for one in object_fields.objects(service, "spec", "ports")) or cell_text.NONE,
        ages.object_age(service, now),
        cell_text.format_labels(object_fields.at(service, "spec", "selector")),
    ]


def _cluster_ip(service: Object) -> str:
    ips = object_fields.texts(service, "spec", "clusterIPs")
    return ips[0] if ips else object_fields.text(service, "spec", "clusterIP") or cell_text.NONE


def _external_ip(service: Object) -> str:
    ips = ",".join(object_fields.texts(service, "spec", "externalIPs"))
    match object_fields.text(service, "spec", "type"):
        case "ClusterIP" | "NodePort":
            return ips or cell_text.NONE
        case "LoadBalancer":
            return ",".join(filter(None, (load_balancer(service), ips))) or "<pending>"
        case "ExternalName":
            return object_fields.text(service, "spec", "externalName")
    return "<unknown>"


def load_balancer(object_: Object) -> str:
    """Returns the external addresses of a Service or an Ingress, each once."""
    ingress = object_fields.objects(object_, "status", "loadBalancer", "ingress")
    return ",".join(sorted({object_fields.text(one, "ip") or object_fields.text(one, "hostname") for one in ingress} - {""}))


def _port(port: Object) -> str:
    number, protocol = object_fields.number(port, "port"), object_fields.text(port, "protocol")
    node_port = object_fields.number(port, "nodePort")
    return f"{number}:{node_port}/{protocol}" if node_port > 0 else f"{number}/{protocol}"


def _endpoints(endpoints: Object, now: float) -> list[Any]:
    subsets = object_fields.objects(endpoints, "subsets")
    addresses = [address for subset in subsets for address in _addresses(subset)]
    return [
        object_fields.name(endpoints),
        cell_text.truncate_list(addresses) if subsets else cell_text.NONE,
        ages.object_age(endpoints, now),
    ]


def _addresses(subset: Object) -> list[str]:
    ips = [object_fields.text(one, "ip") for one in object_fields.objects(subset, "addresses")]
    ports = object_fields.objects(subset, "ports")
    if not ports:  # a headless Service may have no ports
        return ips
    return [f"{_in_brackets(ip)}:{object_fields.number(port, 'port')}" for port in ports for ip in ips]


def _in_brackets(ip: str) -> str:
    return f"[{ip}]" if ":" in ip else ip


def _endpoint_slice(endpoint_slice: Object, now: float) -> list[Any]:
    ports = [_endpoint_port(one) for one in object_fields.objects(endpoint_slice, "ports")]
    endpoints = object_fields.objects(endpoint_slice, "endpoints")
    addresses = [address for one in endpoints for address in object_fields.texts(one, "addresses")]
    return [
        object_fields.name(endpoint_slice),
        object_fields.text(endpoint_slice, "addressType"),
        cell_text.truncate_list(ports) or cell_text.UNSET,
        cell_text.truncate_list(addresses) or cell_text.UNSET,
        ages.object_age(endpoint_slice, now),
    ]


def _endpoint_port(port: Object) -> str:
    number = port.get("port")
    return str(number) if isinstance(number, int) else object_fields.text(port, "name", default="*")


PRINTERS = {
    ("", "services"): Printer(
        (
            NAME,
            text("Type", "The type of the Service: ClusterIP, NodePort, LoadBalancer or ExternalName."),
            text("Cluster-IP", "The cluster IP of the Service."),
            text("External-IP", "The external addresses of the Service."),
            text("Port(s)", "The service's ports, each with its node port if it has one."),
            AGE,
            wide("Selector", "The labels that select the pods of the Service."),
        ),
        _service,
    ),
    ("", "endpoints"): Printer((NAME, text("Endpoints", "The addresses and ports that are ready."), AGE), _endpoints),
    ("discovery.k8s.io", "endpointslices"): Printer(
        (
            NAME,
            text("AddressType", "Whether the addresses are IPv4, IPv6 or names."),
            text("Ports", "The ports of each endpoint."),
            text("Endpoints", "The endpoints' addresses."),
            AGE,
        ),
        _endpoint_slice,
    ),
}
