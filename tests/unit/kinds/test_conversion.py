from __future__ import annotations

import copy
from collections import defaultdict
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from probate.api.gvk import GroupVersionKind
from probate.api.objects import Object
from probate.api.schema.node import Schema
from probate.kinds import conversion
from probate.kinds.builtin import catalog

SCALER = GroupVersionKind("autoscaling", "v1", "HorizontalPodAutoscaler")
EVENT = GroupVersionKind("events.k8s.io", "v1", "Event")

amounts = st.sampled_from(["1", "250m", "2Gi", "10k"])
percents = st.integers(1, 100)
metrics = st.fixed_dictionaries(
    {"name": st.sampled_from(["rps", "q"])}, optional={"selector": st.just({"matchLabels": {"a": "b"}})}
)
objects = st.just({"apiVersion": "v1", "kind": "Service", "name": "s"})


def target(type_: str, **values: st.SearchStrategy[Any]) -> st.SearchStrategy[Object]:
    return st.fixed_dictionaries({"type": st.just(type_), **values})


by_average = target("AverageValue", averageValue=amounts)
by_value = target("Value", value=amounts)
by_share = target("Utilization", averageUtilization=percents)


def metric(type_: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Object]:
    source = type_[0].lower() + type_[1:]
    return st.fixed_dictionaries({"type": st.just(type_), source: st.fixed_dictionaries(fields)})


wanted = st.lists(
    metric("Pods", metric=metrics, target=by_average)
    | metric("Object", describedObject=objects, metric=metrics, target=by_value | by_average)
    | metric("External", metric=metrics, target=by_value | by_average)
    | metric("Resource", name=st.just("memory"), target=by_share | by_average)
    | metric("Resource", name=st.just("cpu"), target=by_average)
    | metric("ContainerResource", name=st.just("cpu"), container=st.just("c"), target=by_share | by_average),
    max_size=3,
)
measured = st.lists(
    metric("Pods", metric=metrics, current=st.fixed_dictionaries({"averageValue": amounts}))
    | metric("Object", describedObject=objects, metric=metrics, current=st.fixed_dictionaries({"value": amounts}))
    | metric(
        "Resource",
        name=st.sampled_from(["cpu", "memory"]),
        current=st.fixed_dictionaries({"averageUtilization": percents, "averageValue": amounts}),
    ),
    min_size=1,
    max_size=3,
)
policies = st.lists(
    st.fixed_dictionaries({"type": st.sampled_from(["Pods", "Percent"]), "value": percents, "periodSeconds": percents}), min_size=1
)
rules = st.fixed_dictionaries(
    {"policies": policies}, optional={"selectPolicy": st.sampled_from(["Max", "Min"]), "stabilizationWindowSeconds": percents}
)
scalers = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries({"name": st.just("a")}, optional={"annotations": st.just({"mine": "x"})}),
        "spec": st.fixed_dictionaries(
            {"maxReplicas": percents, "metrics": wanted.filter(bool)},
            optional={"behavior": st.fixed_dictionaries({}, optional={"scaleUp": rules, "scaleDown": rules}).filter(bool)},
        ),
        "status": st.fixed_dictionaries({}, optional={"currentMetrics": measured}),
    }
)


@given(scalers)
def test_what_v2_says_survives_v1(scaler: Object) -> None:
    before = copy.deepcopy(scaler)
    shown = conversion.from_stored(SCALER, scaler)
    assert scaler == before
    assert not {"metrics", "behavior"} & shown["spec"].keys()
    back = conversion.to_stored(SCALER, shown)
    kept = {part: back[part] for part in ("metadata", "spec")}
    kept["spec"].pop("scaleTargetRef")  # always written, so v1 shows an empty one
    assert kept == {part: before[part] for part in ("metadata", "spec")}
    assert back["status"].get("currentMetrics") == before["status"].get("currentMetrics")


@given(st.integers(1, 100), wanted)
def test_cpu_comes_after_the_metrics_in_annotations(percent: int, others: list[Object]) -> None:
    cpu = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}}}
    shown = conversion.from_stored(SCALER, {"metadata": {}, "spec": {"metrics": [cpu, *others]}})
    cpu_alone = [one for one in others if one["type"] == "Resource" and one["resource"]["name"] == "cpu"]
    assert shown["spec"]["targetCPUUtilizationPercentage"] == percent
    assert conversion.to_stored(SCALER, shown)["spec"]["metrics"] == [*others, cpu]
    assert all("averageUtilization" not in one["resource"]["target"] for one in cpu_alone)


def test_names_of_events_are_exchanged_both_ways() -> None:
    core = {
        "metadata": {},
        "involvedObject": {"kind": "Pod"},
        "message": "m",
        "source": {"host": "h"},
        "count": 2,
        "type": "Normal",
    }
    shown = conversion.from_stored(EVENT, core)
    assert (shown["regarding"], shown["note"], shown["deprecatedCount"]) == ({"kind": "Pod"}, "m", 2)
    assert core.items() <= conversion.to_stored(EVENT, shown).items()


def same_shape(one: Schema, other: Schema) -> bool:
    return one.properties.keys() == other.properties.keys() and all(
        one.properties[name].type == other.properties[name].type for name in one.properties
    )


def test_every_kind_of_several_versions_is_converted_or_has_one_shape() -> None:
    served = defaultdict(list)
    for resource in catalog.load():
        served[resource.group, resource.plural].append(resource)
    for versions in served.values():
        for one in versions[1:]:
            assert one.storage_gvk or same_shape(one.load_schema(), versions[0].load_schema()), one.group_version_kind


def test_kinds_stored_in_another_version_have_conversions() -> None:
    converted = [one for one in catalog.load() if one.storage_gvk is not None]
    assert {one.group_version_kind for one in converted} == conversion.converted_kinds()
    assert all(one.storage_gvk and catalog.load().find_kind(*one.storage_gvk) for one in converted)
