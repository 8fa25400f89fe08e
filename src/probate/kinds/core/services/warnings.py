"""Warns about Services, endpoints, NetworkPolicies and Ingresses: fields without effect, and addresses not in canonical form."""

from __future__ import annotations

from collections.abc import Iterator

from probate.api.field_errors import FieldPath
from probate.kinds.shared import ip_address_warnings
from probate.kinds.shared.field_checks import Value, child, each, items, text, texts

_SPEC = FieldPath("spec")
_OLD_HINTS, _HINTS = "service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"
_MANAGED_SLICE, _MANAGED_ENDPOINTS = "endpointslice.kubernetes.io/managed-by", "endpoints.kubernetes.io/managed-by"
_SLICE_MAKERS = frozenset({"endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"})
_EXTERNAL = "ExternalName"
_INGRESS_CLASS = "kubernetes.io/ingress.class"


def of_service(service: Value) -> Iterator[str]:
    """Yields the warnings about a Service."""
    spec = child(service, "spec")
    if _OLD_HINTS in child(service["metadata"], "annotations"):
        yield f"annotation {_OLD_HINTS} is deprecated, please use {_HINTS} instead"
    is_headless = spec.get("type") == "ClusterIP" and spec.get("clusterIP") == "None"
    if is_headless:
        yield from _of_ignored(spec)
    yield from _of_external(spec, is_headless=is_headless)
    yield from _of_addresses(spec, is_headless=is_headless)
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


def _of_ignored(spec: Value) -> Iterator[str]:
    ignored = {
        "loadBalancerIP": spec.get("loadBalancerIP"),
        "externalIPs": spec.get("externalIPs"),
        "SessionAffinity": spec.get("sessionAffinity") not in {None, "", "None"},
    }
    yield from (f"spec.{field} is ignored for headless services" for field, is_given in ignored.items() if is_given)


def _of_external(spec: Value, *, is_headless: bool) -> Iterator[str]:
    is_external = spec.get("type") == _EXTERNAL
    if spec.get("externalIPs") and is_external:
        yield f'spec.externalIPs is ignored when spec.type is "{_EXTERNAL}"'
    elif spec.get("externalIPs") and not is_headless:
        yield "spec.externalIPs is deprecated: not every cluster implements it"
    if spec.get("externalName") and not is_external:
        yield f'spec.externalName is ignored when spec.type is not "{_EXTERNAL}"'


def _of_addresses(spec: Value, *, is_headless: bool) -> Iterator[str]:
    for field in ("externalIPs",) if is_headless else ("clusterIPs", "externalIPs"):
        for index, address in enumerate(texts(spec, field)):
            yield from ip_address_warnings.of_ip(address, _SPEC / field / index)
    yield from ip_address_warnings.of_ip(text(spec, "loadBalancerIP"), _SPEC / "loadBalancerIP")
    for index, range_ in enumerate(texts(spec, "loadBalancerSourceRanges")):
        yield from ip_address_warnings.of_cidr(range_, _SPEC / "loadBalancerSourceRanges" / index)


def of_endpoints(endpoints: Value) -> Iterator[str]:
    """Yields the warnings about Endpoints that a client manages directly."""
    if _MANAGED_ENDPOINTS in child(endpoints["metadata"], "labels"):
        return
    for subset, at in each(endpoints, FieldPath(), "subsets"):
        for field in ("addresses", "notReadyAddresses"):
            for address, place in each(subset, at, field):
                yield from ip_address_warnings.of_ip(text(address, "ip"), place / "ip")


def of_slice(slice_: Value) -> Iterator[str]:
    """Yields the warnings about an EndpointSlice that a client manages directly."""
    if slice_.get("addressType") == "FQDN":
        yield "spec.addressType: FQDN endpoints are deprecated"
    if child(slice_["metadata"], "labels").get(_MANAGED_SLICE) in _SLICE_MAKERS:
        return
    for endpoint, at in each(slice_, FieldPath(), "endpoints"):
        for index, address in enumerate(texts(endpoint, "addresses")):
            yield from ip_address_warnings.of_ip(address, at / "addresses" / index)


def of_network_policy(policy: Value) -> Iterator[str]:
    """Yields the warnings about a NetworkPolicy."""
    spec = child(policy, "spec")
    for way, side in (("ingress", "from"), ("egress", "to")):
        for rule, at in each(spec, _SPEC, way):
            for peer, place in each(rule, at, side):
                block, inner = child(peer, "ipBlock"), place / "ipBlock"
                yield from ip_address_warnings.of_cidr(text(block, "cidr"), inner / "cidr")
                for index, range_ in enumerate(items(block, "except")):
                    yield from ip_address_warnings.of_cidr(range_ or "", inner / "except" / index)


def of_ingress(ingress: Value) -> Iterator[str]:
    """Yields the warnings about a new Ingress."""
    if _INGRESS_CLASS in child(ingress["metadata"], "annotations"):
        yield f"annotation \"{_INGRESS_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"
