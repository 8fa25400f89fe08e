"""Field selectors: terms, escapes, and the fields of each resource."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate.api.gvk import GroupResource
from probate.api.selectors import field_selectors, selectable_fields
from probate.api.selectors.field_selectors import FieldRequirement, FieldSelector
from probate.core import errors

PODS = selectable_fields.supported_fields(GroupResource("", "pods"))
CONFIG_MAPS = selectable_fields.supported_fields(GroupResource("", "configmaps"))
POD = {"metadata": {"name": "a", "namespace": "n"}, "spec": {"nodeName": "n1", "hostNetwork": True}, "status": {"phase": "Running"}}


@pytest.mark.parametrize(
    ("text", "is_match"),
    [
        ("", True),
        (",", True),
        ("metadata.name=a", True),
        ("metadata.name==a", True),
        ("metadata.name!=a", False),
        ("metadata.name=a,metadata.namespace!=other", True),
        ("metadata.name=a,,metadata.namespace=n,", True),
        ("metadata.name=a,metadata.namespace=other", False),
        ("metadata.name=a,metadata.name=b", False),
        ("metadata.name=", False),
        ("spec.nodeName=n1", True),
        ("spec.host=n1", True),
        ("spec.hostNetwork=true", True),
        ("spec.serviceAccountName=", True),
        ("spec.serviceAccountName!=x", True),
        ("status.phase!=Running,spec.nodeName=n1", False),
        ("status.podIP=!x", False),
    ],
)
def test_selectors_match_objects(text: str, is_match: bool) -> None:
    assert field_selectors.parse(text, PODS).matches(POD) is is_match


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"metadata.name=a\,b", "a,b"),
        (r"metadata.name=a\=b", "a=b"),
        (r"metadata.name=a\\b", "a\\b"),
        (r"metadata.name=a\\,metadata.namespace=n", "a\\"),
        (r"metadata.name=\\\,\=", "\\,="),
        ("metadata.name= a", " a"),
    ],
)
def test_special_characters_are_escaped_by_a_backslash(text: str, value: str) -> None:
    assert field_selectors.parse(text, PODS).exact_name() == value


@pytest.mark.parametrize(
    "text",
    [
        *("metadata.name", "a", "=a", "!=a", "metadata.name =a", "metadata.name>a"),
        *("metadata.name=a,b", "metadata.name=a=b", "metadata.name===a", r"metadata.name=\a", "metadata.name=a\\"),
    ],
)
def test_invalid_terms_are_rejected(text: str) -> None:
    with pytest.raises(errors.BadRequest):
        field_selectors.parse(text, PODS)


@pytest.mark.parametrize(("fields", "text"), [(CONFIG_MAPS, "data.a=1"), (CONFIG_MAPS, "spec.nodeName=n"), (PODS, "type=x")])
def test_unsupported_fields_are_rejected(fields: Any, text: str) -> None:
    field = text.partition("=")[0]
    with pytest.raises(
        errors.BadRequest, match=f"^field label not supported: {field}: supported are metadata.name, metadata.namespace"
    ):
        field_selectors.parse(text, fields)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("metadata.name=a", "a"),
        ("status.phase=Running,metadata.name==a", "a"),
        ("metadata.name!=a", None),
        ("metadata.namespace=a", None),
        ("", None),
        ("metadata.name=", ""),
    ],
)
def test_the_exact_name_of_a_selector(text: str, name: str | None) -> None:
    assert field_selectors.parse(text, PODS).exact_name() == name


def test_a_selector_knows_how_much_of_an_object_it_needs() -> None:
    assert field_selectors.parse("metadata.name!=a,metadata.namespace=b", PODS).needs_metadata_only
    assert not field_selectors.parse("metadata.name!=a,status.phase=x", PODS).needs_metadata_only
    assert field_selectors.parse("", PODS).is_everything
    assert not field_selectors.parse("metadata.name!=a", PODS).is_everything
    assert field_selectors.parse(",", PODS) == field_selectors.EVERYTHING


EVENT = {"involvedObject": {"kind": "Pod", "uid": "u"}, "reason": "r", "type": "Normal", "source": {"component": "kubelet"}}
NEW_EVENT = {"involvedObject": {"kind": "Pod"}, "reportingComponent": "c", "source": {"component": ""}}


@pytest.mark.parametrize(
    ("resource", "document", "text"),
    [
        (GroupResource("", "events"), EVENT, "involvedObject.kind=Pod,involvedObject.uid=u,reason=r,type=Normal,source=kubelet"),
        (GroupResource("", "events"), {"reportingComponent": "c"}, "reportingComponent=c,source=c,involvedObject.fieldPath="),
        (GroupResource("", "events"), NEW_EVENT, "involvedObject.kind=Pod,reportingComponent=c,source=c"),
        (GroupResource("events.k8s.io", "events"), NEW_EVENT, "regarding.kind=Pod,reportingController=c,regarding.name="),
        (GroupResource("events.k8s.io", "events"), EVENT, "regarding.kind=Pod,reason=r,type=Normal"),
        (GroupResource("", "secrets"), {"type": "Opaque"}, "type=Opaque"),
        (GroupResource("", "namespaces"), {"status": {"phase": "Active"}}, "status.phase=Active"),
        (GroupResource("", "nodes"), {"spec": {}}, "spec.unschedulable=false"),
        (GroupResource("", "nodes"), {"spec": {"unschedulable": True}}, "spec.unschedulable=true"),
        (GroupResource("", "pods"), {"spec": {"hostNetwork": False}}, "spec.hostNetwork=false,spec.restartPolicy="),
        (GroupResource("", "services"), {"spec": {"type": "NodePort"}}, "spec.type=NodePort,spec.clusterIP="),
        (GroupResource("", "replicationcontrollers"), {}, "status.replicas=0"),
        (GroupResource("apps", "replicasets"), {"status": {"replicas": 3}}, "status.replicas=3"),
        (GroupResource("batch", "jobs"), {"status": {"succeeded": 2}}, "status.successful=2"),
        (GroupResource("batch", "jobs"), {"status": {"succeeded": 0}}, "status.successful=0"),
        (GroupResource("certificates.k8s.io", "certificatesigningrequests"), {"spec": {"signerName": "s"}}, "spec.signerName=s"),
        (GroupResource("resource.k8s.io", "resourceslices"), {"spec": {"driver": "d"}}, "spec.driver=d,spec.nodeName="),
    ],
)
def test_fields_of_built_in_resources(resource: GroupResource, document: dict[str, Any], text: str) -> None:
    fields = selectable_fields.supported_fields(resource)
    for term in text.split(","):
        assert field_selectors.parse(term, fields).matches(document), term
        assert not field_selectors.parse(term.replace("=", "!=", 1), fields).matches(document), term


@pytest.mark.parametrize(
    ("value", "text"), [("red", "red"), (3, "3"), (True, "true"), (None, ""), ({"a": 1}, ""), (["a"], "")], ids=repr
)
def test_fields_of_custom_resources(value: Any, text: str) -> None:
    fields = selectable_fields.custom_fields([".spec.color"])
    selector = field_selectors.parse(f"spec.color={text},metadata.name=a", fields)
    assert selector.matches({"metadata": {"name": "a"}, "spec": {"color": value}})
    assert not selector.matches({"metadata": {"name": "a"}, "spec": {"color": "other"}})


def test_a_field_below_a_non_object_is_unset() -> None:
    assert not field_selectors.parse("spec.nodeName=x", PODS).matches({"spec": "x"})


requirements = st.builds(
    FieldRequirement, st.sampled_from(sorted(PODS)), st.booleans(), st.text(st.sampled_from("ab\\,=! \n"), max_size=5)
)


@given(st.lists(requirements, max_size=4))
def test_the_text_of_a_selector_parses_to_the_same_selector(drawn: list[FieldRequirement]) -> None:
    selector = FieldSelector(drawn, PODS)
    again = field_selectors.parse(str(selector), PODS)
    assert again == selector
    assert hash(again) == hash(selector)
    assert again.matches(POD) is selector.matches(POD)


@given(st.text(st.sampled_from("a\\,=!"), max_size=10))
def test_any_value_parses_or_is_rejected(text: str) -> None:
    try:
        selector = field_selectors.parse(f"metadata.name={text}", PODS)
    except errors.BadRequest:
        return
    assert field_selectors.parse(str(selector), PODS) == selector
