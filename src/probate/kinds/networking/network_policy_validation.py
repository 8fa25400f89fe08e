"""Validates NetworkPolicies."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from probate.api.field_errors import FieldPath, forbidden, invalid, not_supported, required
from probate.kinds.core.pods.validation.containers import PROTOCOLS
from probate.kinds.shared.field_checks import (
    Problems,
    Value,
    check_choice,
    check_given,
    check_port,
    check_port_or_name,
    child,
    each,
    text,
    texts,
)
from probate.kinds.shared.ip_addresses import check_any_cidr, check_new_cidr, network
from probate.kinds.shared.selector_validation import check_label_selector

_SPEC = FieldPath("spec")
_SIDES = (("ingress", "from"), ("egress", "to"))


def create_network_policy(policy: Value) -> Problems:
    """Validates a new NetworkPolicy: all programs must interpret its CIDRs alike."""
    yield from check_network_policy(policy)
    yield from _check_ranges(policy, frozenset())


def update_network_policy(new: Value, old: Value) -> Problems:
    """Validates a changed NetworkPolicy: CIDRs that it had before stay valid."""
    yield from _check_ranges(new, frozenset(cidr for cidr, _ in _ranges(old)))


def check_network_policy(policy: Value) -> Problems:
    """Validates a NetworkPolicy."""
    spec = child(policy, "spec")
    yield from check_label_selector(child(spec, "podSelector"), _SPEC / "podSelector")
    for side, peers in _SIDES:
        for rule, at in each(spec, _SPEC, side):
            for port, place in each(rule, at, "ports"):
                yield from _check_policy_port(port, place)
            for peer, place in each(rule, at, peers):
                yield from _check_peer(peer, place)
    types = texts(spec, "policyTypes")
    if len(types) > 2:
        yield invalid(_SPEC / "policyTypes", types, "may not specify more than two policyTypes")
        return
    for index, type_ in enumerate(types):
        if type_ not in {"Ingress", "Egress"}:
            yield not_supported(_SPEC / "policyTypes" / index, type_, ["Ingress", "Egress"])


def _check_policy_port(port: Value, path: FieldPath) -> Problems:
    number, end = port.get("port"), port.get("endPort")
    yield from check_choice(port, path, "protocol", supported=PROTOCOLS)
    if number is not None:
        yield from check_port_or_name(number, path / "port")
    if end is None:
        return
    if not isinstance(number, int):
        detail = "may not be specified when `port` is " + ("not specified" if number is None else "non-numeric")
        yield invalid(path / "endPort", end, detail)
    elif end < number:
        yield invalid(path / "endPort", end, "must be greater than or equal to `port`")
    else:
        yield from check_port(end, path / "endPort")


def _check_peer(peer: Value, path: FieldPath) -> Problems:
    block: Value | None = peer.get("ipBlock")
    given = [field for field in ("podSelector", "namespaceSelector") if peer.get(field) is not None]
    for field in given:
        yield from check_label_selector(peer[field], path / field)
    if block is not None:
        yield from _check_ip_block(block, path / "ipBlock")
    if block is None and not given:
        yield required(path, "must specify a peer")
    elif block is not None and given:
        yield forbidden(path, "may not specify both ipBlock and another peer")


def _check_ip_block(block: Value, path: FieldPath) -> Problems:
    cidr = text(block, "cidr")
    found = list(check_given(block, path, "cidr")) or list(check_any_cidr(cidr, path / "cidr"))
    if found:
        yield from found
        return
    for index, exception in enumerate(texts(block, "except")):
        at = path / "except" / index
        bad = list(check_any_cidr(exception, at))
        yield from bad
        if not bad and not _is_strictly_within(exception, cidr):
            yield invalid(at, exception, "must be a strict subset of `cidr`")


def _ranges(policy: Value) -> Iterator[tuple[str, FieldPath]]:
    """Yields all CIDRs in the policy that can be read."""
    spec = child(policy, "spec")
    for side, peers in _SIDES:
        for rule, at in each(spec, _SPEC, side):
            for peer, place in each(rule, at, peers):
                block, path = child(peer, "ipBlock"), place / "ipBlock"
                yield text(block, "cidr"), path / "cidr"
                yield from ((cidr, path / "except" / index) for index, cidr in enumerate(texts(block, "except")))


def _check_ranges(policy: Value, known: Collection[str]) -> Problems:
    for cidr, at in _ranges(policy):
        if cidr and not any(check_any_cidr(cidr, at)):
            yield from check_new_cidr(cidr, at, known)


def _is_strictly_within(part: str, whole: str) -> bool:
    inner, outer = network(part), network(whole)
    return inner.version == outer.version and inner.prefixlen > outer.prefixlen and inner.network_address in outer
