"""What objects count for, and how sums are spelled."""

from __future__ import annotations

from typing import Any

import pytest

from probate.kinds.core.pods import resource_totals
from probate.kinds.core.quota import usage
from probate.kinds.shared import quantity_sums
from probate.kinds.shared.quantity_sums import amount


def container(cpu: str, **more: Any) -> Any:
    return {"name": "c", "resources": {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}, **more}


@pytest.mark.parametrize(
    ("spec", "cpu"),
    [
        ({"containers": [container("1"), container("500m")]}, "1500m"),
        ({"containers": [container("1")], "initContainers": [container("3"), container("2")]}, "3"),
        ({"containers": [container("1")], "initContainers": [container("2", restartPolicy="Always")]}, "3"),
        ({"containers": [container("1")], "initContainers": [container("2", restartPolicy="Always"), container("5")]}, "7"),
        ({"containers": [container("1")], "initContainers": [container("5"), container("2", restartPolicy="Always")]}, "5"),
        ({"containers": [container("1")], "overhead": {"cpu": "250m"}}, "1250m"),
        ({"containers": [container("1")], "resources": {"requests": {"cpu": "4"}, "limits": {"cpu": "4"}}}, "4"),
    ],
)
def test_a_pod_needs_what_runs_or_what_starts_it(spec: Any, cpu: str) -> None:
    assert str(resource_totals.pod_resources(spec, "requests")["cpu"]) == cpu
    assert str(resource_totals.pod_resources(spec, "limits")["cpu"]) == cpu


def test_overhead_adds_no_limit_to_a_pod_without_one() -> None:
    spec = {"containers": [{"name": "c"}], "overhead": {"cpu": "1"}}
    assert str(resource_totals.pod_resources(spec, "requests")["cpu"]) == "1"
    assert "cpu" not in resource_totals.pod_resources(spec, "limits")


@pytest.mark.parametrize(
    ("parts", "spelled"),
    [
        (["500m", "500m"], "1"),
        (["100m", "1"], "1100m"),
        (["512Mi", "512Mi"], "1Gi"),
        (["1Gi", "1"], "1073741825"),
        (["0", "1Gi"], "1Gi"),
        (["1k", "24"], "1024"),
        (["1000Mi"], "1000Mi"),
        (["512Ki", "512"], "524800"),
    ],
)
def test_a_sum_is_spelled_in_the_family_of_its_first_part(parts: list[str], spelled: str) -> None:
    found = quantity_sums.add_up({"x": amount(one)} for one in parts)
    assert str(found["x"]) == spelled


@pytest.mark.parametrize(
    ("name", "resource"),
    [
        ("count/deployments.apps", "deployments.apps"),
        ("pods", "pods"),
        ("requests.memory", "pods"),
        ("requests.example.com/gpu", "pods"),
        ("hugepages-2Mi", "pods"),
        ("services.nodeports", "services"),
        ("requests.storage", "persistentvolumeclaims"),
        ("gold.storageclass.storage.k8s.io/requests.storage", "persistentvolumeclaims"),
        ("secrets", "secrets"),
    ],
)
def test_each_name_is_counted_by_one_resource(name: str, resource: str) -> None:
    assert usage.counted_resource(name) == resource


def test_resources_of_kubernetes_itself_are_no_extended_ones() -> None:
    given = quantity_sums.read({"cpu": "1", "example.com/gpu": "2", "storage.kubernetes.io/x": "1", "hugepages-2Mi": "4Mi"})
    found = {name: str(value) for name, value in resource_totals.quota_amounts(given, {}).items()}
    huge = {"hugepages-2Mi": "4Mi", "requests.hugepages-2Mi": "4Mi"}
    assert found == {"cpu": "1", "requests.cpu": "1", "requests.example.com/gpu": "2", **huge}
