"""Devices and claims for them: what is refused of them, and what is not."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from probate.api.field_errors import FieldError
from probate.api.gvk import GroupVersionKind
from probate.api.objects import Object
from probate.kinds import validation
from probate.kinds.resource.device_selectors import ENVIRONMENT
from probate.lib.cel import cost_estimate
from probate.lib.cel.programs import compile_expression

Causes = list[tuple[str, str]]

GROUP = ("resource.k8s.io", "v1")
REQUEST = "spec.devices.requests[0]"
UID = "0a1b2c3d-0000-4000-8000-0123456789ab"
GOOD = 'device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].memory.isGreaterThan(quantity("1Gi"))'
DEAR = "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, device.attributes.all(d, true))))"
OPAQUE = {"opaque": {"driver": "gpu.example.com", "parameters": {"a": 1}}}
LARGE = {"opaque": {"driver": "gpu.example.com", "parameters": {"a": "x" * 10240}}}


def exactly(**changes: Any) -> Object:
    return {"name": "a", "exactly": {"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1, **changes}}


def alternative(name: str = "b", **changes: Any) -> Object:
    return {"name": name, "deviceClassName": "c", "allocationMode": "ExactCount", "count": 1, **changes}


def claim(*requests: Object, **more: Any) -> Object:
    return {"metadata": {"name": "x"}, "spec": {"devices": {"requests": list(requests), **more}}}


def class_(**spec: Any) -> Object:
    return {"metadata": {"name": "x"}, "spec": spec}


def slice_(*devices: Object, **changes: Any) -> Object:
    pool = {"name": "p", "resourceSliceCount": 1, "generation": 0}
    spec = {"driver": "d.io", "nodeName": "n", "pool": pool, "devices": list(devices), **changes}
    return {"metadata": {"name": "x"}, "spec": {name: value for name, value in spec.items() if value is not None}}


def device(**changes: Any) -> Object:
    return {"name": "a", **changes}


def selector(expression: str) -> Object:
    return {"selectors": [{"cel": {"expression": expression}}]}


def shared(**policy: Any) -> Object:
    return device(allowMultipleAllocations=True, capacity={"memory": {"value": "8", "requestPolicy": policy}})


def result(**changes: Any) -> Object:
    return {"request": "a", "driver": "d.io", "pool": "p", "device": "v", **changes}


def allocated(*results: Object, **more: Any) -> Object:
    return {"allocation": {"devices": {"results": list(results)}}, **more}


def causes(problems: Any) -> Causes:
    return sorted({(one.field, one.reason.removeprefix("FieldValue")) for one in problems})


def created(kind: str, object_: Object) -> Causes:
    return causes(validation.create(GroupVersionKind(*GROUP, kind), object_))


def updated(kind: str, old: Object, new: Object) -> Causes:
    return causes(validation.update(GroupVersionKind(*GROUP, kind), new, old))


def problems(status: Object, before: Object | None = None, **meta: Any) -> list[FieldError]:
    old = {**claim(exactly(), {"name": "l", "firstAvailable": [alternative()]}), "status": before or {}}
    new = {**copy.deepcopy(old), "metadata": {"name": "x", **meta}, "status": status}
    return validation.status(GroupVersionKind(*GROUP, "ResourceClaim"), new, old)


def reported(status: Object, before: Object | None = None, **meta: Any) -> Causes:
    return causes(problems(status, before, **meta))


@pytest.mark.parametrize(
    ("object_", "expected"),
    [
        pytest.param(claim(), [], id="nothing"),
        pytest.param(claim(exactly(**selector(GOOD))), [], id="good"),
        pytest.param(claim({"name": "a", "firstAvailable": [alternative("b"), alternative("c")]}), [], id="alternatives"),
        pytest.param(claim({"name": "a"}), [(REQUEST, "Required")], id="neither"),
        pytest.param(claim({**exactly(), "firstAvailable": [alternative()]}), [(REQUEST, "Invalid")], id="both"),
        pytest.param(claim({**exactly(), "name": ""}), [(f"{REQUEST}.name", "Required")], id="no name"),
        pytest.param(claim({**exactly(), "name": "A_"}), [(f"{REQUEST}.name", "Invalid")], id="bad name"),
        pytest.param(claim(exactly(), exactly()), [("spec.devices.requests[1]", "Duplicate")], id="twice"),
        pytest.param(
            claim(*({**exactly(), "name": f"r{n}"} for n in range(33))),
            [("spec.devices.requests", "TooMany")],
            id="too many requests",
        ),
        pytest.param(
            claim({"name": "a", "firstAvailable": [alternative(), alternative()]}),
            [(f"{REQUEST}.firstAvailable[1]", "Duplicate")],
            id="alternative twice",
        ),
        pytest.param(
            claim({"name": "a", "firstAvailable": [alternative(f"b{n}") for n in range(9)]}),
            [(f"{REQUEST}.firstAvailable", "TooMany")],
            id="too many alternatives",
        ),
        pytest.param(claim(exactly(deviceClassName="")), [(f"{REQUEST}.exactly.deviceClassName", "Required")], id="no class"),
        pytest.param(claim(exactly(deviceClassName="A_")), [(f"{REQUEST}.exactly.deviceClassName", "Invalid")], id="bad class"),
        pytest.param(claim(exactly(allocationMode="X")), [(f"{REQUEST}.exactly.allocationMode", "NotSupported")], id="mode"),
        pytest.param(claim(exactly(allocationMode="All")), [(f"{REQUEST}.exactly.count", "Invalid")], id="count of all"),
        pytest.param(claim(exactly(allocationMode="All", count=0)), [], id="all"),
        pytest.param(claim(exactly(count=-1)), [(f"{REQUEST}.exactly.count", "Invalid")], id="negative count"),
        pytest.param(claim(exactly(selectors=[{}])), [(f"{REQUEST}.exactly.selectors[0].cel", "Required")], id="empty selector"),
        pytest.param(
            claim(exactly(selectors=[{"cel": {"expression": "true"}}] * 33)),
            [(f"{REQUEST}.exactly.selectors", "TooMany")],
            id="too many selectors",
        ),
        pytest.param(
            claim(exactly(tolerations=[{"key": "a b", "operator": "X", "effect": "Y"}])),
            [
                (f"{REQUEST}.exactly.tolerations[0].effect", "NotSupported"),
                (f"{REQUEST}.exactly.tolerations[0].key", "Invalid"),
                (f"{REQUEST}.exactly.tolerations[0].operator", "NotSupported"),
            ],
            id="toleration",
        ),
        pytest.param(
            claim(exactly(tolerations=[{"operator": "Exists", "value": "v"}, {"operator": "Equal", "value": "v w"}])),
            [(f"{REQUEST}.exactly.tolerations[{n}].value", "Invalid") for n in (0, 1)],
            id="value of a toleration",
        ),
        pytest.param(
            claim(
                exactly(),
                {"name": "l", "firstAvailable": [alternative()]},
                constraints=[{"requests": ["a", "l/b"], "matchAttribute": "d.io/x"}],
            ),
            [],
            id="good constraint",
        ),
        pytest.param(
            claim(exactly(), constraints=[{"requests": ["z", "a/b", "a/b/c"], "matchAttribute": "x"}]),
            [("spec.devices.constraints[0].matchAttribute", "Invalid")]
            + [(f"spec.devices.constraints[0].requests[{n}]", "Invalid") for n in range(3)],
            id="constraint",
        ),
        pytest.param(
            claim(exactly(), constraints=[{"requests": ["a", "a"], "distinctAttribute": "d.io/x"}]),
            [("spec.devices.constraints[0].requests[1]", "Duplicate")],
            id="constraint names one twice",
        ),
        pytest.param(claim(exactly(), constraints=[{}]), [("spec.devices.constraints[0]", "Required")], id="empty constraint"),
        pytest.param(
            claim(exactly(), constraints=[{"matchAttribute": "d.io/x"}] * 33),
            [("spec.devices.constraints", "TooMany")],
            id="constraints",
        ),
        pytest.param(claim(exactly(), config=[OPAQUE]), [], id="good configuration"),
        pytest.param(claim(exactly(), config=[{}]), [("spec.devices.config[0].opaque", "Required")], id="empty configuration"),
        pytest.param(
            claim(exactly(), config=[{"opaque": {"driver": "a_"}}]),
            [("spec.devices.config[0].opaque.driver", "Invalid"), ("spec.devices.config[0].opaque.parameters", "Required")],
            id="configuration",
        ),
        pytest.param(claim(config=[LARGE]), [("spec.devices.config[0].opaque.parameters", "TooLong")], id="large configuration"),
        pytest.param(
            claim(config=[{"opaque": {"driver": "d", "parameters": [1]}}]),
            [("spec.devices.config[0].opaque.parameters", "Invalid")],
            id="parameters are no object",
        ),
    ],
)
def test_claims(object_: Object, expected: Causes) -> None:
    assert created("ResourceClaim", object_) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param("true", [], id="constant"),
        pytest.param('device.attributes["d"].flag', [], id="of any type"),
        pytest.param('cel.bind(d, device.attributes["d"], d.a && d.b)', [], id="bind"),
        pytest.param('device.attributes["d"].version.compareTo(semver("1.2.3")) > 0', [], id="version"),
        pytest.param('device.capacity["d"].memory.compareTo(quantity("1Gi")) >= 0', [], id="capacity"),
        pytest.param("device.allowMultipleAllocations == false", [], id="allocations"),
        pytest.param(
            'device.attributes["d"].models.includes("a") || device.attributes["d"].models.asList().size() > 1', [], id="lists"
        ),
        pytest.param("nope", ["Invalid"], id="undeclared"),
        pytest.param("?!", ["Invalid"], id="no syntax"),
        pytest.param("device.nope", ["Invalid"], id="no such field"),
        pytest.param("1", ["Invalid"], id="no bool"),
        pytest.param("", ["Invalid"], id="empty"),
        pytest.param(DEAR, ["Forbidden"], id="too dear"),
        pytest.param(f"true {' ' * 10240}", ["TooLong"], id="too long"),
    ],
)
def test_selectors(expression: str, expected: list[str]) -> None:
    found = [("spec.selectors[0].cel.expression", reason) for reason in expected]
    assert created("DeviceClass", class_(**selector(expression))) == found


@pytest.mark.parametrize(
    ("expression", "cost"),
    [
        ('device.attributes["d"].a.isGreaterThan(quantity("0"))', 6),
        ('"d" in device.attributes', 3),
        ('device.driver == "dra.example.com"', 4),
        ('device.attributes["d"].names.asList().exists(x, x > 0)', 390),
        ('device.attributes["d"].name.includes(true)', 52),
        ('device.attributes["dra.example.com"].services.matches("[^a]?sym")', 18),
    ],
)
def test_selectors_cost_what_they_cost_in_kubernetes(expression: str, cost: int) -> None:
    assert cost_estimate.cost(compile_expression(expression, ENVIRONMENT).tree, ENVIRONMENT.library) == cost


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"extendedResourceName": "example.com/gpu"}, [], id="extended"),
        pytest.param({"extendedResourceName": "cpu"}, [("spec.extendedResourceName", "Invalid")], id="native"),
        pytest.param({"extendedResourceName": "kubernetes.io/x"}, [("spec.extendedResourceName", "Invalid")], id="Kubernetes' own"),
        pytest.param({"extendedResourceName": "example.com/a b"}, [("spec.extendedResourceName", "Invalid")], id="no name"),
        pytest.param({"config": [{}]}, [("spec.config[0].opaque", "Required")], id="config"),
    ],
)
def test_classes(spec: Object, expected: Causes) -> None:
    assert created("DeviceClass", class_(**spec)) == expected


def test_templates() -> None:
    spec = {"metadata": {"labels": {"a b": "c"}}, "spec": claim({"name": "a"})["spec"]}
    expected = [("spec.metadata.labels", "Invalid"), ("spec.spec.devices.requests[0]", "Required")]
    assert created("ResourceClaimTemplate", {"metadata": {"name": "x"}, "spec": spec}) == expected


@pytest.mark.parametrize(
    ("object_", "expected"),
    [
        pytest.param(slice_(device()), [], id="good"),
        pytest.param(slice_(driver=""), [("spec.driver", "Required")], id="no driver"),
        pytest.param(slice_(driver="a" * 64), [("spec.driver", "TooLong")], id="long driver"),
        pytest.param(slice_(nodeName=None), [("spec", "Required")], id="nowhere"),
        pytest.param(slice_(nodeName=None, allNodes=True), [], id="everywhere"),
        pytest.param(slice_(allNodes=True), [("spec", "Invalid")], id="here and everywhere"),
        pytest.param(slice_(allNodes=False), [("spec.allNodes", "Invalid")], id="not everywhere"),
        pytest.param(
            slice_(nodeName=None, nodeSelector={"nodeSelectorTerms": [{}, {}]}),
            [("spec.nodeSelector.nodeSelectorTerms", "Invalid")],
            id="two terms",
        ),
        pytest.param(
            slice_(pool={"name": "", "generation": -1}),
            [("spec.pool.generation", "Invalid"), ("spec.pool.name", "Required"), ("spec.pool.resourceSliceCount", "Invalid")],
            id="pool",
        ),
        pytest.param(slice_(pool={"name": "a/b.c", "resourceSliceCount": 1}), [], id="pool with slashes"),
        pytest.param(slice_(device(name="A_")), [("spec.devices[0].name", "Invalid")], id="name of a device"),
        pytest.param(slice_(device(), device()), [("spec.devices[1]", "Duplicate")], id="device twice"),
        pytest.param(slice_(*(device(name=f"a{n}") for n in range(128))), [], id="many devices"),
        pytest.param(slice_(*(device(name=f"a{n}") for n in range(129))), [("spec.devices", "TooMany")], id="too many devices"),
        pytest.param(
            slice_(*(device(name=f"a{n}", taints=[{"key": "k", "effect": "NoExecute"}]) for n in range(65))),
            [("spec.devices", "TooMany")],
            id="too many devices with taints",
        ),
        pytest.param(slice_(device(attributes={"x": {}})), [("spec.devices[0].attributes[x]", "Invalid")], id="no value"),
        pytest.param(
            slice_(device(attributes={"x": {"int": 1, "bool": True}})),
            [("spec.devices[0].attributes[x]", "Invalid")],
            id="two values",
        ),
        pytest.param(slice_(device(attributes={"a-b": {"int": 0}})), [("spec.devices[0].attributes", "Invalid")], id="attribute"),
        pytest.param(
            slice_(device(attributes={"x": {"version": "1"}, "y": {"version": "1.2.3-rc.1"}})),
            [("spec.devices[0].attributes[x].version", "Invalid")],
            id="version",
        ),
        pytest.param(
            slice_(device(attributes={"x": {"string": "s" * 65}})),
            [("spec.devices[0].attributes[x].string", "TooLong")],
            id="long value",
        ),
        pytest.param(
            slice_(device(attributes={f"x{n}": {"int": n} for n in range(33)})),
            [("spec.devices[0]", "Invalid")],
            id="too many attributes",
        ),
        pytest.param(
            slice_(device(taints=[{"key": "a b"}, {"key": "k", "value": "a b", "effect": "X"}])),
            [
                ("spec.devices[0].taints[0].effect", "Required"),
                ("spec.devices[0].taints[0].key", "Invalid"),
                ("spec.devices[0].taints[1].effect", "NotSupported"),
                ("spec.devices[0].taints[1].value", "Invalid"),
            ],
            id="taints",
        ),
        pytest.param(slice_(device(nodeName="n")), [("spec.devices[0]", "Invalid")], id="place of a device"),
        pytest.param(
            slice_(device(), device(name="b", nodeName="n"), nodeName=None, perDeviceNodeSelection=True),
            [("spec.devices[0]", "Required")],
            id="device without a place",
        ),
        pytest.param(
            slice_(device(bindingConditions=["a", "a"])),
            [("spec.devices[0].bindingConditions[1]", "Duplicate"), ("spec.devices[0].bindingFailureConditions", "Invalid")],
            id="conditions",
        ),
        pytest.param(
            slice_(device(), sharedCounters=[{"name": "s", "counters": {"c": {"value": "1"}}}]),
            [("spec", "Invalid")],
            id="both lists",
        ),
        pytest.param(
            slice_(sharedCounters=[{"name": "A_", "counters": {}}]),
            [("spec.sharedCounters[0].counters", "Required"), ("spec.sharedCounters[0].name", "Invalid")],
            id="counters",
        ),
        pytest.param(
            slice_(device(consumesCounters=[{"counterSet": "", "counters": {"A_": {"value": "1"}}}])),
            [
                ("spec.devices[0].consumesCounters[0].counterSet", "Required"),
                ("spec.devices[0].consumesCounters[0].counters", "Invalid"),
            ],
            id="consumed counters",
        ),
        pytest.param(
            slice_(device(capacity={"memory": {"value": "8", "requestPolicy": {"default": "1"}}})),
            [("spec.devices[0].capacity[memory].requestPolicy", "Forbidden")],
            id="policy of what one has alone",
        ),
    ],
)
def test_slices(object_: Object, expected: Causes) -> None:
    assert created("ResourceSlice", object_) == expected


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param({"default": "1", "validValues": ["1", "2"]}, [], id="values"),
        pytest.param({"default": "1", "validRange": {"min": "1", "max": "7", "step": "2"}}, [], id="range"),
        pytest.param({"default": "1", "validValues": ["1"], "validRange": {"min": "1"}}, [("", "Forbidden")], id="both"),
        pytest.param({"validValues": ["1"]}, [(".default", "Required")], id="no default"),
        pytest.param({"default": "1", "validValues": ["2"]}, [(".validValues", "Invalid")], id="default is no value"),
        pytest.param({"default": "1", "validValues": ["1", "9"]}, [(".validValues[1]", "Invalid")], id="value over the capacity"),
        pytest.param({"default": "1", "validValues": ["2", "1"]}, [(".validValues[1]", "Invalid")], id="values in disorder"),
        pytest.param({"default": "1", "validValues": ["1", "1"]}, [(".validValues[1]", "Duplicate")], id="value twice"),
        pytest.param({"default": "1", "validRange": {"max": "2"}}, [(".validRange.min", "Required")], id="no minimum"),
        pytest.param({"default": "1", "validRange": {"min": "2"}}, [(".validRange.default", "Invalid")], id="default below"),
        pytest.param({"default": "1", "validRange": {"min": "1", "max": "9"}}, [(".validRange.max", "Invalid")], id="maximum"),
        pytest.param({"default": "2", "validRange": {"min": "1", "step": "2"}}, [(".validRange.step", "Invalid")], id="no step"),
        pytest.param(
            {"default": "1", "validRange": {"min": "1", "step": "0"}}, [(".validRange.step", "Invalid")], id="step of nothing"
        ),
    ],
)
def test_capacities_that_are_shared(policy: Object, expected: Causes) -> None:
    here = "spec.devices[0].capacity[memory].requestPolicy"
    assert created("ResourceSlice", slice_(shared(**policy))) == [(f"{here}{field}", reason) for field, reason in expected]


@pytest.mark.parametrize(
    ("kind", "old", "new", "expected"),
    [
        pytest.param("ResourceClaim", claim(exactly()), claim(exactly(count=2)), [("spec", "Invalid")], id="claim"),
        pytest.param("ResourceClaim", claim({"name": "a"}), claim({"name": "a"}), [], id="claim that is no good and stays"),
        pytest.param(
            "ResourceClaimTemplate",
            {"spec": {}},
            {"spec": {"spec": claim(exactly())["spec"]}},
            [("spec", "Invalid")],
            id="template",
        ),
        pytest.param(
            "DeviceClass", class_(**selector("nope")), class_(**selector("nope"), config=[OPAQUE]), [], id="selector stays"
        ),
        pytest.param(
            "DeviceClass",
            class_(**selector("nope")),
            class_(**selector("nopes")),
            [("spec.selectors[0].cel.expression", "Invalid")],
            id="selector changes",
        ),
        pytest.param("DeviceClass", class_(config=[LARGE]), class_(config=[LARGE], **selector("true")), [], id="large and stays"),
        pytest.param(
            "ResourceSlice",
            slice_(),
            slice_(driver="e.io", nodeName="m", pool={"name": "q", "resourceSliceCount": 1}),
            [("spec.driver", "Invalid"), ("spec.nodeName", "Invalid"), ("spec.pool.name", "Invalid")],
            id="slice",
        ),
        pytest.param(
            "ResourceSlice",
            slice_(),
            slice_(device(), pool={"name": "p", "resourceSliceCount": 2, "generation": 1}),
            [],
            id="devices",
        ),
        pytest.param(
            "ResourceSlice", slice_(device(taints=[{"key": "k"}])), slice_(device(taints=[{"key": "k"}])), [], id="taint stays"
        ),
        pytest.param(
            "DeviceTaintRule", {"spec": {"taint": {"key": "k"}}}, {"spec": {"taint": {"key": "k"}}}, [], id="effect stays"
        ),
        pytest.param(
            "DeviceTaintRule",
            {"spec": {"taint": {"key": "k", "effect": "None"}}},
            {"spec": {"taint": {"key": "k", "effect": "X"}}},
            [("spec.taint.effect", "NotSupported")],
            id="effect changes",
        ),
    ],
)
def test_updates(kind: str, old: Object, new: Object, expected: Causes) -> None:
    assert updated(kind, old, new) == expected


def test_rules_of_taints() -> None:
    selected = {"driver": "a_", "pool": "", "device": "A_"}
    found = created("DeviceTaintRule", {"spec": {"deviceSelector": selected, "taint": {"key": ""}}})
    below = "spec.deviceSelector"
    assert found == [
        (f"{below}.device", "Invalid"),
        (f"{below}.driver", "Invalid"),
        (f"{below}.pool", "Required"),
        ("spec.taint.effect", "Required"),
        ("spec.taint.key", "Invalid"),
    ]


RESULT = "status.allocation.devices.results[0]"
POD = {"resource": "pods", "name": "p", "uid": "1"}


@pytest.mark.parametrize(
    ("status", "before", "expected"),
    [
        pytest.param(allocated(result()), {}, [], id="allocated"),
        pytest.param(allocated(result(request="l/b"), reservedFor=[POD]), {}, [], id="reserved"),
        pytest.param({}, allocated(result()), [], id="let go"),
        pytest.param({"reservedFor": [POD]}, {}, [("status.reservedFor", "Forbidden")], id="reserved too early"),
        pytest.param(
            allocated(result(), reservedFor=[{}]),
            {},
            [(f"status.reservedFor[0].{field}", "Required") for field in ("name", "resource", "uid")],
            id="consumer",
        ),
        pytest.param(
            allocated(result(), reservedFor=[POD, {**POD, "name": "q"}]),
            {},
            [("status.reservedFor[1]", "Duplicate")],
            id="consumer twice",
        ),
        pytest.param(allocated(result(device="w")), allocated(result()), [("status.allocation", "Invalid")], id="allocated anew"),
        pytest.param(allocated(result(device="W_")), allocated(result(device="W_")), [], id="stays"),
        pytest.param(
            allocated(result(request="zz", driver="", pool="", device="", shareID="x")),
            {},
            [
                (f"{RESULT}.device", "Required"),
                (f"{RESULT}.driver", "Required"),
                (f"{RESULT}.pool", "Required"),
                (f"{RESULT}.request", "Invalid"),
                (f"{RESULT}.shareID", "Invalid"),
            ],
            id="result",
        ),
        pytest.param(allocated(*[result()] * 33), {}, [("status.allocation.devices.results", "TooMany")], id="too many"),
        pytest.param(
            {"allocation": {"devices": {"config": [OPAQUE]}, "nodeSelector": {}}},
            {},
            [
                ("status.allocation.devices.config[0].source", "Required"),
                ("status.allocation.nodeSelector.nodeSelectorTerms", "Required"),
            ],
            id="allocation",
        ),
        pytest.param(allocated(result(shareID=UID), devices=[{**result(shareID=UID), "data": {"a": 1}}]), {}, [], id="device"),
        pytest.param(
            allocated(result(), devices=[result(device="w")]), {}, [("status.devices[0]", "Invalid")], id="another device"
        ),
        pytest.param(
            allocated(result(), devices=[{**result(), "data": [], "networkData": {"ips": ["x"], "interfaceName": "i" * 257}}]),
            {},
            [
                ("status.devices[0].data", "Invalid"),
                ("status.devices[0].networkData.interfaceName", "TooLong"),
                ("status.devices[0].networkData.ips[0]", "Invalid"),
            ],
            id="state of a device",
        ),
    ],
)
def test_statuses(status: Object, before: Object, expected: Causes) -> None:
    assert reported(status, before) == expected


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("192.0.2.5/24", ""),
        ("2001:db8::5/64", ""),
        ("192.0.2.5", "must be a valid address in CIDR form"),
        ("192.0.2.5/255.255.255.0", "must be a valid address in CIDR form"),
        ("fe80::1%eth0/64", "must be a valid address in CIDR form"),
        ("192.0.2.5/024", 'must be in canonical form ("192.0.2.5/24")'),
        ("2001:DB8:0::5/64", 'must be in canonical form ("2001:db8::5/64")'),
        ("::ffff:192.0.2.5/120", 'must be in canonical form ("192.0.2.5/24")'),
    ],
)
def test_address_of_an_interface_was_refused_as_an_invalid_range(address: str, told: str) -> None:
    status = allocated(result(), devices=[{**result(), "networkData": {"ips": [address]}}])
    found = problems(status)
    assert [problem.field for problem in found] == (["status.devices[0].networkData.ips[0]"] if told else [])
    assert all(told in problem.message for problem in found)


def test_claim_that_is_being_deleted_gets_no_new_consumers() -> None:
    held = allocated(result(), reservedFor=[POD])
    going = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert reported(held, held, **going) == []
    more = allocated(result(), reservedFor=[POD, {**POD, "uid": "2"}])
    assert reported(more, held, **going) == [("status.reservedFor", "Forbidden")]
