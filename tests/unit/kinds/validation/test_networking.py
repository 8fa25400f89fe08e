"""Addresses and ranges, and the kinds that have them: NetworkPolicy, ServiceCIDR, IPAddress, Ingress, EndpointSlice."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.gvk import GroupVersionKind
from probate.kinds import validation
from support.valid_objects import sample

Causes = list[tuple[str, str]]
AT = "spec.ingress[0].from[0].ipBlock"
INVALID = "Invalid"


def refused(kind: str, **changes: Any) -> Causes:
    key, object_ = sample(kind, **changes)
    return sorted(
        {(one.field, one.reason.removeprefix("FieldValue")) for one in validation.create(GroupVersionKind(*key), object_)}
    )


def updated(kind: str, old: dict[str, Any], new: dict[str, Any]) -> Causes:
    key, before = sample(kind, **old)
    _, after = sample(kind, **new)
    return sorted(
        {(one.field, one.reason.removeprefix("FieldValue")) for one in validation.update(GroupVersionKind(*key), after, before)}
    )


def block(cidr: str, *exceptions: str) -> dict[str, Any]:
    return {"spec__ingress": [{"from": [{"ipBlock": {"cidr": cidr, "except": list(exceptions)}}]}]}


ODD = ["10.1.2.3/16", "::ffff:10.0.0.0/104", "10.0.0.0/08", "2001:db8::1/64"]


@pytest.mark.parametrize("cidr", [*ODD, "10.0.0.0/255.0.0.0", "10.0.0.0", "010.0.0.0/8", "x/8", "10.0.0.0/33"])
def test_ranges_that_programs_read_differently_are_refused(cidr: str) -> None:
    assert refused("NetworkPolicy", **block(cidr)) == [(f"{AT}.cidr", INVALID)]


@pytest.mark.parametrize("cidr", ["10.0.0.0/8", "0.0.0.0/0", "10.1.2.3/32", "2001:DB8::/32", "::/0", "2001:db8:0:0::/64"])
def test_ranges_that_programs_read_alike_are_fine(cidr: str) -> None:
    assert refused("NetworkPolicy", **block(cidr)) == []


def test_ranges_that_are_left_out_are_as_strict() -> None:
    assert refused("NetworkPolicy", **block("10.0.0.0/8", "10.1.0.0/16", "10.1.2.3/16")) == [(f"{AT}.except[1]", INVALID)]


@pytest.mark.parametrize("cidr", ODD)
def test_ranges_that_a_policy_has_already_are_kept(cidr: str) -> None:
    assert updated("NetworkPolicy", block(cidr), {**block(cidr), "metadata__labels": {"a": "b"}}) == []
    assert updated("NetworkPolicy", block("10.0.0.0/8"), block(cidr)) == [(f"{AT}.cidr", INVALID)]


@pytest.mark.parametrize(
    ("cidrs", "expected"),
    [
        pytest.param(["10.0.0.0/16", "2001:db8::/64"], [], id="both-families"),
        pytest.param(["2001:DB8::/64"], ["spec.cidrs[0]"], id="another-spelling"),
        pytest.param(["10.0.0.1/16"], ["spec.cidrs[0]"], id="an-address"),
        pytest.param(["10.0.0.0/16", "10.1.0.0/16"], ["spec.cidrs"], id="one-family-twice"),
        pytest.param(["10.0.0.0/16", "x", "y"], ["spec.cidrs"], id="three"),
    ],
)
def test_ranges_of_services(cidrs: list[str], expected: list[str]) -> None:
    assert refused("ServiceCIDR", spec__cidrs=cidrs) == [(field, INVALID) for field in expected]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(["10.0.0.1/16"], ["10.0.0.1/16"], [], id="as-it-was"),
        pytest.param(["10.0.0.0/16"], ["10.0.0.0/16", "2001:db8::/64"], [], id="the-other-family-joins"),
        pytest.param(["10.0.0.0/16"], ["10.0.0.0/16", "10.1.0.0/16"], ["spec.cidrs"], id="the-same-family-joins"),
        pytest.param(["10.0.0.0/16"], ["10.1.0.0/16"], ["spec.cidrs[0]"], id="another"),
        pytest.param(["10.0.0.0/16", "2001:db8::/64"], ["10.0.0.0/16"], ["spec.cidrs"], id="one-leaves"),
    ],
)
def test_ranges_of_services_stay(old: list[str], new: list[str], expected: list[str]) -> None:
    assert updated("ServiceCIDR", {"spec__cidrs": old}, {"spec__cidrs": new}) == [(field, INVALID) for field in expected]


def test_what_an_address_belongs_to_has_good_names() -> None:
    bad = {"group": "A_", "resource": "a/b", "name": "..", "namespace": "a%b"}
    expected = sorted((f"spec.parentRef.{field}", INVALID) for field in bad)
    assert refused("IPAddress", spec__parentRef=bad) == expected


def classes(annotation: str, **changes: Any) -> dict[str, Any]:
    return {"metadata__annotations": {"kubernetes.io/ingress.class": annotation}, **changes}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param(classes("c", spec__ingressClassName="c"), [], id="class-twice"),
        pytest.param(classes("d", spec__ingressClassName="c"), ["annotations.kubernetes.io/ingress.class"], id="two-classes"),
        pytest.param({"spec__ingressClassName": ""}, ["spec.ingressClassName"], id="no-class"),
        pytest.param(
            {"spec__defaultBackend": {"resource": {"apiGroup": "A_", "kind": "K", "name": "n"}}},
            ["spec.defaultBackend.resource.apiGroup"],
            id="group",
        ),
    ],
)
def test_ingresses(changes: dict[str, Any], expected: list[str]) -> None:
    assert refused("Ingress", **changes) == [(field, INVALID) for field in expected]


def test_parameters_of_ingress_classes() -> None:
    parameters = {"apiGroup": "", "kind": "K", "name": "n", "scope": "Namespace", "namespace": "A_"}
    expected = [("spec.parameters.apiGroup", INVALID), ("spec.parameters.namespace", INVALID)]
    assert refused("IngressClass", spec__parameters=parameters) == expected


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        pytest.param({"forZones": [{"name": "a"}, {"name": "b"}], "forNodes": [{"name": "n"}]}, [], id="good"),
        pytest.param({"forZones": [{"name": str(one)} for one in range(9)]}, [("forZones", "TooMany")], id="many-zones"),
        pytest.param(
            {"forZones": [{"name": "a b"}, {"name": "a"}, {"name": "a"}]},
            [("forZones[0].name", INVALID), ("forZones[2].name", "Duplicate")],
            id="zones",
        ),
        pytest.param({"forNodes": [{"name": "A_"}]}, [("forNodes[0].name", INVALID)], id="nodes"),
    ],
)
def test_hints_of_endpoints(hints: dict[str, Any], expected: Causes) -> None:
    found = refused("EndpointSlice", endpoints=[{"addresses": ["1.2.3.4"], "hints": hints}])
    assert found == [(f"endpoints[0].hints.{field}", reason) for field, reason in expected]


@pytest.mark.parametrize(
    ("address", "reason"),
    [("a.example.com", ""), ("example.com.", ""), ("example", INVALID), ("a..b", INVALID), ("A_.b", INVALID), ("", "Required")],
)
def test_domains_of_endpoints_are_whole(address: str, reason: str) -> None:
    found = refused("EndpointSlice", addressType="FQDN", endpoints=[{"addresses": [address]}])
    assert found == ([("endpoints[0].addresses[0]", reason)] if reason else [])
