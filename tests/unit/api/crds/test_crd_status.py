"""What a definition's status says: names go to whoever comes first, conditions follow, and settle."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from probate.api.crds import crd_conditions
from probate.api.crds.name_acceptance import review

NOW, LATER = "2024-01-01T00:00:00Z", "2024-01-01T00:01:00Z"


def definition(
    plural: str, kind: str, *, group: str = "example.com", short: list[str] | None = None, **metadata: Any
) -> dict[str, Any]:
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": kind + "List", "shortNames": short or []}
    schema = {"openAPIV3Schema": {"type": "object"}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    return {"metadata": {"name": f"{plural}.{group}", **metadata}, "spec": {"group": group, "names": names, "versions": versions}}


def settled(crd: dict[str, Any], *others: dict[str, Any], now: str = NOW) -> dict[str, Any]:
    return {**crd, "status": crd_conditions.reconcile(crd, [*others, crd], now)}


def brief(crd: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(one["type"], one["status"], one["reason"]) for one in crd["status"]["conditions"]]


def test_a_lonely_definition_is_established() -> None:
    crd = settled(definition("things", "Thing", short=["th"]))
    assert brief(crd) == [("NamesAccepted", "True", "NoConflicts"), ("Established", "True", "InitialNamesAccepted")]
    expected = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList", "shortNames": ["th"]}
    assert crd["status"]["acceptedNames"] == expected


def test_the_second_of_a_name_waits() -> None:
    first = settled(definition("things", "Thing"))
    second = settled(definition("others", "Thing"), first)
    assert brief(second) == [("NamesAccepted", "False", "ListKindConflict"), ("Established", "False", "NotAccepted")]
    assert second["status"]["acceptedNames"] == {"plural": "others", "kind": ""}
    assert '"ThingList" is already in use' in second["status"]["conditions"][0]["message"]
    assert brief(settled(second))[1] == ("Established", "True", "InitialNamesAccepted")


def test_singular_and_short_names_share_one_space() -> None:
    first = settled(definition("things", "Thing", short=["ot"]))
    clash = review(definition("ots", "Ot", short=["thing", "x"]), [first])
    assert (clash.are_accepted, clash.reason) == (False, "ShortNamesConflict")
    assert clash.accepted == {"plural": "ots", "kind": "Ot", "listKind": "OtList"}


def test_other_groups_do_not_matter() -> None:
    first = settled(definition("things", "Thing"))
    assert review(definition("things", "Thing", group="other.com"), [first]).are_accepted


def test_what_is_established_stays_so_and_keeps_its_names() -> None:
    first = settled(definition("things", "Thing", short=["th"]))
    second = settled(definition("others", "Other", short=["ot"]))
    second["spec"]["names"] = {**second["spec"]["names"], "shortNames": ["th"]}
    after = settled(second, first, now=LATER)
    assert brief(after) == [("NamesAccepted", "False", "ShortNamesConflict"), ("Established", "True", "InitialNamesAccepted")]
    assert after["status"]["acceptedNames"]["shortNames"] == ["ot"]
    assert [one["lastTransitionTime"] for one in after["status"]["conditions"]] == [LATER, NOW]


def test_a_definitions_own_names_are_not_in_its_way() -> None:
    crd = settled(definition("things", "Thing"))
    crd["spec"]["names"] = {**crd["spec"]["names"], "singular": "things"}
    assert review(crd, [crd]).accepted["singular"] == "things"


def test_a_short_name_that_was_given_is_kept_whoever_else_has_it() -> None:
    first, second = settled(definition("things", "Thing", short=["th"])), settled(definition("others", "Other", short=["th"]))
    second["spec"]["names"] = {**second["spec"]["names"], "categories": ["all"]}
    assert review(second, [first, second]).are_accepted


def test_protected_groups_say_whether_they_are_approved() -> None:
    def reason(annotation: str) -> tuple[str, str, str]:
        annotations = {"api-approved.kubernetes.io": annotation}
        return brief(settled(definition("things", "Thing", group="x.k8s.io", annotations=annotations)))[2]

    kind = "KubernetesAPIApprovalPolicyConformant"
    assert reason("https://example.com/1") == (kind, "True", "ApprovedAnnotation")
    assert reason("unapproved, for now") == (kind, "False", "UnapprovedAnnotation")
    assert reason("") == (kind, "False", "MissingAnnotation")
    assert reason("fine") == (kind, "False", "InvalidAnnotation")


def test_a_schema_that_is_not_structural_is_told_and_forgotten() -> None:
    crd = definition("things", "Thing")
    crd["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": {"properties": {"a": {}}}}
    crd = settled(crd)
    assert brief(crd)[2] == ("NonStructuralSchema", "True", "Violations")
    crd["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": {"type": "object"}}
    assert len(brief(settled(crd))) == 2


def test_terminating_begins_and_ends() -> None:
    status = settled(definition("things", "Thing"))["status"]
    begun = crd_conditions.mark_terminating(status, crd_conditions.DELETION_PENDING, "soon", NOW)
    ended = crd_conditions.mark_terminating(begun, crd_conditions.DELETION_COMPLETED, "removed all instances", LATER)
    assert crd_conditions.is_true({"status": begun}, "Terminating")
    assert not crd_conditions.is_true({"status": ended}, "Terminating")
    found = crd_conditions.find({"status": ended}, "Terminating")
    assert found is not None
    assert found["lastTransitionTime"] == LATER
    assert not crd_conditions.is_true({"status": status}, "Terminating")


WORDS = st.sampled_from(["aa", "bb", "cc"])
DEFINITIONS = st.lists(
    st.tuples(WORDS, WORDS.map(str.title), st.lists(WORDS, max_size=2)), max_size=4, unique_by=lambda one: one[0]
)


@settings(deadline=None)
@given(DEFINITIONS)
def test_no_name_is_ever_given_twice_and_all_settle(asked: list[tuple[str, str, list[str]]]) -> None:
    crds = [definition(plural, kind, short=short) for plural, kind, short in asked]
    for _ in range(len(crds) + 1):
        for index, crd in enumerate(crds):
            crds[index] = {**crd, "status": crd_conditions.reconcile(crd, crds, NOW)}
    held = [set(_names(crd["status"]["acceptedNames"])) for crd in crds]
    assert len(set().union(*held)) == sum(len(one) for one in held)
    assert [crd_conditions.reconcile(crd, crds, LATER) for crd in crds] == [crd["status"] for crd in crds]


def _names(accepted: dict[str, Any]) -> list[str]:
    return [accepted[field] for field in ("plural", "singular") if accepted.get(field)] + (accepted.get("shortNames") or [])
