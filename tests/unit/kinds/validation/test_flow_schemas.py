"""FlowSchemas and PriorityLevelConfigurations."""

from __future__ import annotations

from typing import Any

import pytest

from probate.api.gvk import GroupVersionKind
from probate.kinds import validation
from support.valid_objects import sample

Causes = list[tuple[str, str]]
RESOURCES = {"verbs": ["get"], "apiGroups": ["*"], "resources": ["pods"], "namespaces": ["a"]}
PATHS = {"verbs": ["*"], "nonResourceURLs": ["/healthz", "/apis/*"]}
SUBJECT = {"kind": "User", "user": {"name": "*"}}
QUEUING = {"queues": 64, "handSize": 8, "queueLengthLimit": 50}


def refused(kind: str, **changes: Any) -> Causes:
    key, object_ = sample(kind, **changes)
    return sorted(
        {(one.field, one.reason.removeprefix("FieldValue")) for one in validation.create(GroupVersionKind(*key), object_)}
    )


def in_rule(expected: dict[str, str]) -> Causes:
    return sorted((f"spec.rules[0]{field}", reason) for field, reason in expected.items())


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param({"resourceRules": [RESOURCES], "nonResourceRules": [PATHS]}, {}, id="good"),
        pytest.param({"subjects": []}, {".subjects": "Required"}, id="nobody"),
        pytest.param({"nonResourceRules": []}, {"": "Required"}, id="nothing"),
        pytest.param({"subjects": [{"kind": "Robot"}]}, {".subjects[0].kind": "NotSupported"}, id="kind"),
        pytest.param({"subjects": [{"kind": "Group"}]}, {".subjects[0].group": "Required"}, id="group"),
        pytest.param({"subjects": [{"kind": "Group", "group": {}}]}, {".subjects[0].group.name": "Required"}, id="no-name"),
        pytest.param({"subjects": [{**SUBJECT, "group": {"name": "g"}}]}, {".subjects[0].group": "Forbidden"}, id="two"),
        pytest.param(
            {"subjects": [{"kind": "ServiceAccount", "serviceAccount": {"name": "A_"}}]},
            {".subjects[0].serviceAccount.name": "Invalid", ".subjects[0].serviceAccount.namespace": "Required"},
            id="account",
        ),
        pytest.param(
            {"subjects": [{"kind": "ServiceAccount", "serviceAccount": {"name": "*", "namespace": "a"}}]}, {}, id="all-accounts"
        ),
        pytest.param(
            {"resourceRules": [{}]},
            {f".resourceRules[0].{field}": "Required" for field in ("verbs", "apiGroups", "resources", "namespaces")},
            id="empty",
        ),
        pytest.param({"resourceRules": [{**RESOURCES, "namespaces": [], "clusterScope": True}]}, {}, id="cluster"),
        pytest.param(
            {"resourceRules": [{field: ["*", "a"] for field in RESOURCES}]},
            {f".resourceRules[0].{field}": "Invalid" for field in RESOURCES},
            id="all-and-one",
        ),
        pytest.param({"resourceRules": [{**RESOURCES, "verbs": ["eat"]}]}, {".resourceRules[0].verbs": "NotSupported"}, id="verb"),
        pytest.param(
            {"resourceRules": [{**RESOURCES, "namespaces": ["A_"]}]}, {".resourceRules[0].namespaces[0]": "Invalid"}, id="namespace"
        ),
        pytest.param(
            {"nonResourceRules": [{**PATHS, "nonResourceURLs": ["", "a", "/a b", "/a//b", "/*/a", "/a*", "/"]}]},
            {f".nonResourceRules[0].nonResourceURLs[{index}]": "Invalid" for index in range(6)},
            id="paths",
        ),
    ],
)
def test_rules_of_flow_schemas(change: dict[str, Any], expected: dict[str, str]) -> None:
    rule = {"subjects": [SUBJECT], "nonResourceRules": [PATHS], **change}
    assert refused("FlowSchema", spec__rules=[rule]) == in_rule(expected)


def test_only_the_exempt_schema_may_have_precedence_1() -> None:
    assert refused("FlowSchema", spec__matchingPrecedence=1) == [("spec.matchingPrecedence", "Invalid")]
    assert refused("FlowSchema", spec__matchingPrecedence=1, metadata__name="exempt") == []
    exempt = {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}}
    assert refused("PriorityLevelConfiguration", spec=exempt) == [("spec.type", "Invalid")]
    assert refused("PriorityLevelConfiguration", spec=exempt, metadata__name="exempt") == []
    assert refused("PriorityLevelConfiguration", metadata__name="exempt") == [("spec.type", "Invalid")]


def test_flows_are_distinguished_by_user_or_namespace() -> None:
    assert refused("FlowSchema", spec__distinguisherMethod={"type": "ByUser"}) == []
    assert refused("FlowSchema", spec__distinguisherMethod={"type": "ByColour"}) == [
        ("spec.distinguisherMethod.type", "NotSupported")
    ]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param({"limitResponse": {"type": "Queue", "queuing": QUEUING}}, {}, id="queue"),
        pytest.param({"limitResponse": {}}, {"limitResponse.type": "NotSupported"}, id="no-response"),
        pytest.param({"limitResponse": {"type": "Queue"}}, {"limitResponse.queuing": "Required"}, id="queue-without"),
        pytest.param(
            {"limitResponse": {"type": "Reject", "queuing": QUEUING}}, {"limitResponse.queuing": "Forbidden"}, id="reject-with"
        ),
        pytest.param({"nominalConcurrencyShares": -1}, {"nominalConcurrencyShares": "Invalid"}, id="shares"),
        pytest.param({"lendablePercent": 101}, {"lendablePercent": "Invalid"}, id="lends-more-than-all"),
        pytest.param({"borrowingLimitPercent": -1}, {"borrowingLimitPercent": "Invalid"}, id="borrows-less-than-nothing"),
        pytest.param({"borrowingLimitPercent": 400}, {}, id="borrows-much"),
    ],
)
def test_limits_of_levels(change: dict[str, Any], expected: dict[str, str]) -> None:
    found = refused("PriorityLevelConfiguration", spec__limited={"limitResponse": {"type": "Reject"}, **change})
    assert found == [(f"spec.limited.{field}", reason) for field, reason in expected.items()]


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"queues": 0, "handSize": 0, "queueLengthLimit": 0}, ["handSize", "queueLengthLimit", "queues"]),
        ({"queues": 4}, ["handSize"]),
        ({"handSize": 11}, ["handSize"]),
        ({"queues": 10_000_001, "handSize": 1}, ["queues"]),
        ({"queues": 1, "handSize": 1}, []),
    ],
    ids=["nothing", "more-than-there-are", "too-many-to-draw", "too-many", "one"],
)
def test_queues(change: dict[str, int], fields: list[str]) -> None:
    limited = {"limitResponse": {"type": "Queue", "queuing": {**QUEUING, **change}}}
    expected = [(f"spec.limited.limitResponse.queuing.{field}", "Invalid") for field in fields]
    assert refused("PriorityLevelConfiguration", spec__limited=limited) == expected
