"""The rules of aggregated ClusterRoles, and the work that it takes to compute them."""

from __future__ import annotations

from typing import Any

from probate.api.objects import Object
from probate.api.rbac import aggregation


class CountedRole(dict[str, Any]):
    """A ClusterRole that counts how often its rules are read."""

    reads = 0

    def get(self, name: str, default: Any = None) -> Any:
        self.reads += name == "rules"
        return super().get(name, default)


def cluster_role(name: str, **labels: str) -> CountedRole:
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": [name]}
    return CountedRole(metadata={"name": name, "labels": labels}, rules=[rule])


def aggregated(*selectors: Object) -> Object:
    return {"metadata": {"name": "aggregated"}, "aggregationRule": {"clusterRoleSelectors": list(selectors)}, "rules": []}


def resources(role: Object, roles: list[CountedRole]) -> list[str]:
    return [rule["resources"][0] for rule in aggregation.aggregated_rules(role, [*roles, role])]


def test_rules_of_a_role_that_many_selectors_match_were_read_for_each_of_them() -> None:
    roles = [cluster_role(f"r{number}", a="b") for number in range(5)]
    assert resources(aggregated(*[{"matchLabels": {"a": "b"}}, {}] * 50), roles) == [f"r{number}" for number in range(5)]
    assert [role.reads for role in roles] == [1] * 5


def test_rules_are_those_of_all_matching_roles_each_once() -> None:
    roles = [cluster_role("c", of="x"), cluster_role("a", of="x"), cluster_role("b", of="y"), cluster_role("d")]
    roles.append(CountedRole(metadata={"name": "twin", "labels": {"of": "y"}}, rules=cluster_role("b")["rules"]))
    role = aggregated({"matchLabels": {"of": "x"}}, {"matchLabels": {"of": "y"}})
    assert resources(role, roles) == ["a", "c", "b"]
