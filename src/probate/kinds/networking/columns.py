"""Table columns of NetworkPolicies, Ingresses, IngressClasses, ServiceCIDRs and IPAddresses."""

from __future__ import annotations

from typing import Any

from probate.api.gvk import GroupResource
from probate.api.objects import Object
from probate.api.printers import ages, cell_text, object_fields
from probate.api.printers.columns import AGE, NAME, Printer, text
from probate.kinds.core.services import columns

_MOST_HOSTS = 3


def _ingress(ingress: Object, now: float) -> list[Any]:
    return [
        object_fields.name(ingress),
        object_fields.text(ingress, "spec", "ingressClassName", default=cell_text.NONE),
        _hosts(object_fields.objects(ingress, "spec", "rules")),
        columns.load_balancer(ingress),
        "80, 443" if object_fields.count(ingress, "spec", "tls") else "80",
        ages.object_age(ingress, now),
    ]


def _hosts(rules: list[Object]) -> str:
    """Returns up to three hosts. The count of further ones counts rules, including those without a host, as in Kubernetes."""
    hosts: list[str] = []
    for rule in rules:
        if len(hosts) == _MOST_HOSTS:
            return f"{','.join(hosts)} + {len(rules) - _MOST_HOSTS} more..."
        if host := object_fields.text(rule, "host"):
            hosts.append(host)
    return ",".join(hosts) or "*"


def _ingress_class(ingress_class: Object, now: float) -> list[Any]:
    controller = object_fields.text(ingress_class, "spec", "controller")
    parameters = _parameters(object_fields.at(ingress_class, "spec", "parameters"))
    return [object_fields.name(ingress_class), controller, parameters, ages.object_age(ingress_class, now)]


def _parameters(parameters: Any) -> str:
    if not isinstance(parameters, dict):
        return cell_text.NONE
    group = parameters.get("apiGroup")
    kind = object_fields.text(parameters, "kind") + (f".{group}" if isinstance(group, str) else "")
    return f"{kind}/{object_fields.text(parameters, 'name')}"


def _network_policy(policy: Object, now: float) -> list[Any]:
    selector = cell_text.format_selector_or_none(object_fields.at(policy, "spec", "podSelector"))
    return [object_fields.name(policy), selector, ages.object_age(policy, now)]


def _ip_address(address: Object, _: float) -> list[Any]:
    return [object_fields.name(address), _parent(object_fields.at(address, "spec", "parentRef"))]


def _parent(reference: Any) -> str:
    if not isinstance(reference, dict):
        return cell_text.NONE
    resource = str(GroupResource(object_fields.text(reference, "group"), object_fields.text(reference, "resource"))).lower()
    namespace, name = object_fields.text(reference, "namespace"), object_fields.text(reference, "name")
    return f"{resource}/{namespace}/{name}" if namespace else f"{resource}/{name}"


def _service_cidr(service_cidr: Object, now: float) -> list[Any]:
    return [
        object_fields.name(service_cidr),
        ",".join(object_fields.texts(service_cidr, "spec", "cidrs")),
        ages.object_age(service_cidr, now),
    ]


_GROUP = "networking.k8s.io"

PRINTERS = {
    (_GROUP, "ingresses"): Printer(
        (
            NAME,
            text("Class", "The IngressClass, which names the controller of the Ingress."),
            text("Hosts", "The hosts that the rules apply to; * is any host."),
            text("Address", "The external addresses of the Ingress."),
            text("Ports", "The open ports: 80, and 443 with TLS."),
            AGE,
        ),
        _ingress,
    ),
    (_GROUP, "ingressclasses"): Printer(
        (
            NAME,
            text("Controller", "The controller of Ingresses of this class."),
            text("Parameters", "The object with parameters for the controller."),
            AGE,
        ),
        _ingress_class,
    ),
    (_GROUP, "networkpolicies"): Printer(
        (NAME, text("Pod-Selector", "The labels of the pods that the policy applies to; none means all pods."), AGE),
        _network_policy,
    ),
    (_GROUP, "ipaddresses"): Printer((NAME, text("ParentRef", "The object that uses the address.")), _ip_address),
    (_GROUP, "servicecidrs"): Printer((NAME, text("CIDRs", "The ranges from which services get addresses."), AGE), _service_cidr),
}
