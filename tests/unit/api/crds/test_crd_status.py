"""The status of a CRD: the first CRD gets a name, and the conditions follow from that and converge."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from probate.api.crds import crd_conditions
from probate.api.crds.name_acceptance import accept_names

NOW, LATER = "2024-01-01T00:00:00Z", "2024-01-01T00:01:00Z"


def new_crd(
    plural: str, kind: str, *, group: str = "example.com", short: list[str] | None = None, **metadata: Any
) -> dict[str, Any]:
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": kind + "List", "shortNames": short or []}
    schema = {"openAPIV3Schema": {"type": "object"}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    return {"metadata": {"name": f"{plural}.{group}", **metadata}, "spec": {"group": group, "names": names, "versions": versions}}


def with_status(crd: dict[str, Any], *others: dict[str, Any], now: str = NOW) -> dict[str, Any]:
    return {**crd, "status": crd_conditions.compute_status(crd, [*others, crd], now)}


def conditions_of(crd: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(condition["type"], condition["status"], condition["reason"]) for condition in crd["status"]["conditions"]]


def test_a_single_crd_is_established() -> None:
    crd = with_status(new_crd("things", "Thing", short=["th"]))
    assert conditions_of(crd) == [("NamesAccepted", "True", "NoConflicts"), ("Established", "True", "InitialNamesAccepted")]
    expected = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList", "shortNames": ["th"]}
    assert crd["status"]["acceptedNames"] == expected


def test_a_second_crd_with_the_same_name_is_not_established() -> None:
    first = with_status(new_crd("things", "Thing"))
    second = with_status(new_crd("others", "Thing"), first)
    assert conditions_of(second) == [("NamesAccepted", "False", "ListKindConflict"), ("Established", "False", "NotAccepted")]
    assert second["status"]["acceptedNames"] == {"plural": "others", "kind": ""}
    assert '"ThingList" is already in use' in second["status"]["conditions"][0]["message"]
    assert conditions_of(with_status(second))[1] == ("Established", "True", "InitialNamesAccepted")


def test_singular_and_short_names_share_one_namespace() -> None:
    first = with_status(new_crd("things", "Thing", short=["ot"]))
    acceptance = accept_names(new_crd("ots", "Ot", short=["thing", "x"]), [first])
    assert (acceptance.are_accepted, acceptance.reason) == (False, "ShortNamesConflict")
    assert acceptance.accepted == {"plural": "ots", "kind": "Ot", "listKind": "OtList"}


def test_names_in_other_groups_do_not_conflict() -> None:
    first = with_status(new_crd("things", "Thing"))
    assert accept_names(new_crd("things", "Thing", group="other.com"), [first]).are_accepted


def test_an_established_crd_stays_established_and_keeps_its_names() -> None:
    first = with_status(new_crd("things", "Thing", short=["th"]))
    second = with_status(new_crd("others", "Other", short=["ot"]))
    second["spec"]["names"] = {**second["spec"]["names"], "shortNames": ["th"]}
    after = with_status(second, first, now=LATER)
    assert conditions_of(after) == [
        ("NamesAccepted", "False", "ShortNamesConflict"),
        ("Established", "True", "InitialNamesAccepted"),
    ]
    assert after["status"]["acceptedNames"]["shortNames"] == ["ot"]
    assert [condition["lastTransitionTime"] for condition in after["status"]["conditions"]] == [LATER, NOW]


def test_a_crd_does_not_conflict_with_its_own_names() -> None:
    crd = with_status(new_crd("things", "Thing"))
    crd["spec"]["names"] = {**crd["spec"]["names"], "singular": "things"}
    assert accept_names(crd, [crd]).accepted["singular"] == "things"


def test_a_crd_keeps_an_accepted_short_name_that_another_crd_has() -> None:
    first, second = with_status(new_crd("things", "Thing", short=["th"])), with_status(new_crd("others", "Other", short=["th"]))
    second["spec"]["names"] = {**second["spec"]["names"], "categories": ["all"]}
    assert accept_names(second, [first, second]).are_accepted


def test_crds_in_protected_groups_have_an_approval_condition() -> None:
    def reason(annotation: str) -> tuple[str, str, str]:
        annotations = {"api-approved.kubernetes.io": annotation}
        return conditions_of(with_status(new_crd("things", "Thing", group="x.k8s.io", annotations=annotations)))[2]

    kind = "KubernetesAPIApprovalPolicyConformant"
    assert reason("https://example.com/1") == (kind, "True", "ApprovedAnnotation")
    assert reason("unapproved, for now") == (kind, "False", "UnapprovedAnnotation")
    assert reason("") == (kind, "False", "MissingAnnotation")
    assert reason("fine") == (kind, "False", "InvalidAnnotation")


def test_the_non_structural_condition_appears_and_disappears() -> None:
    crd = new_crd("things", "Thing")
    crd["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": {"properties": {"a": {}}}}
    crd = with_status(crd)
    assert conditions_of(crd)[2] == ("NonStructuralSchema", "True", "Violations")
    crd["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": {"type": "object"}}
    assert len(conditions_of(with_status(crd))) == 2


def test_terminating_begins_and_ends() -> None:
    status = with_status(new_crd("things", "Thing"))["status"]
    started = crd_conditions.mark_terminating(status, reason=crd_conditions.DELETION_PENDING, message="soon", now=NOW)
    ended = crd_conditions.mark_terminating(
        started, reason=crd_conditions.DELETION_COMPLETED, message="removed all instances", now=LATER
    )
    assert crd_conditions.is_condition_true({"status": started}, "Terminating")
    assert not crd_conditions.is_condition_true({"status": ended}, "Terminating")
    condition = crd_conditions.find_condition({"status": ended}, "Terminating")
    assert condition is not None
    assert condition["lastTransitionTime"] == LATER
    assert not crd_conditions.is_condition_true({"status": status}, "Terminating")


NAMES = st.sampled_from(["aa", "bb", "cc"])
REQUESTED_NAMES = st.lists(
    st.tuples(NAMES, NAMES.map(str.title), st.lists(NAMES, max_size=2)), max_size=4, unique_by=lambda one: one[0]
)


@settings(deadline=None)
@given(REQUESTED_NAMES)
def test_no_name_is_accepted_twice_and_the_status_converges(requested: list[tuple[str, str, list[str]]]) -> None:
    crds = [new_crd(plural, kind, short=short) for plural, kind, short in requested]
    for _ in range(len(crds) + 1):
        for index, crd in enumerate(crds):
            crds[index] = {**crd, "status": crd_conditions.compute_status(crd, crds, NOW)}
    accepted = [set(_resource_names(crd["status"]["acceptedNames"])) for crd in crds]
    assert len(set().union(*accepted)) == sum(len(names) for names in accepted)
    assert [crd_conditions.compute_status(crd, crds, LATER) for crd in crds] == [crd["status"] for crd in crds]


def _resource_names(accepted: dict[str, Any]) -> list[str]:
    return [accepted[field] for field in ("plural", "singular") if accepted.get(field)] + (accepted.get("shortNames") or [])
