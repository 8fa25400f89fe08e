"""Which definitions are refused, and where; recorded from Kubernetes, and by its rules."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from probate.api.crds.strategy import prepare_create, prepare_update, set_defaults, storage_version
from probate.api.crds.validation import validate_create, validate_status_update, validate_update

ROWS = json.loads((Path(__file__).parents[3] / "data" / "crd-refusals.json").read_text())
REQUIRED, FORBIDDEN, INVALID, UNSUPPORTED = (
    "FieldValueRequired",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueNotSupported",
)


def version(name: str = "v1", **more: Any) -> dict[str, Any]:
    return {"name": name, "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}, **more}


def definition(*versions: dict[str, Any], names: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    crd = {
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing", **(names or {})},
            "versions": list(versions) or [version()],
            **spec,
        },
    }
    set_defaults(crd)
    prepare_create(crd)
    return crd


def refusals(crd: dict[str, Any]) -> list[tuple[str, str]]:
    return sorted({(one.field, one.reason) for one in validate_create(crd)})


def with_schema(**words: Any) -> dict[str, Any]:
    return version(schema={"openAPIV3Schema": {"type": "object", **words}})


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_recorded_refusals(row: dict[str, Any]) -> None:
    crd = copy.deepcopy(row["request"]["body"])
    set_defaults(crd)
    prepare_create(crd)
    assert refusals(crd) == sorted((one["field"], one["reason"]) for one in row["causes"])


def test_defaults_and_first_status() -> None:
    crd = definition()
    assert crd["spec"]["names"] == {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    assert crd["spec"]["conversion"] == {"strategy": "None"}
    assert crd["status"] == {"acceptedNames": {"plural": "", "kind": ""}, "conditions": None, "storedVersions": ["v1"]}


def test_good_definitions() -> None:
    second = version("v2", storage=False, schema={"openAPIV3Schema": {"type": "object", "properties": {"a": {"type": "string"}}}})
    scale = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n", "labelSelectorPath": ".status.s"}
    column = {"name": "N", "type": "integer", "format": "int32", "jsonPath": ".spec.n"}
    rich = with_schema(properties={"spec": {"type": "object", "properties": {"c": {"type": "string"}}}})
    rich |= {"subresources": {"status": {}, "scale": scale}, "additionalPrinterColumns": [column]}
    rich |= {"selectableFields": [{"jsonPath": ".spec.c"}], "deprecated": True, "deprecationWarning": "use another"}
    webhook = {"clientConfig": {"service": {"name": "a", "namespace": "b", "path": "/c"}}, "conversionReviewVersions": ["v1"]}
    assert refusals(definition()) == []
    assert refusals(definition(version(), second)) == []
    assert refusals(definition(rich, names={"shortNames": ["th"], "categories": ["all"]})) == []
    assert refusals(definition(conversion={"strategy": "Webhook", "webhook": webhook})) == []


BOTH = [("spec.versions", INVALID), ("status.storedVersions", INVALID)]


@pytest.mark.parametrize(
    ("crd", "expected"),
    [
        (definition(group="example"), [("metadata.name", INVALID), ("spec.group", INVALID)]),
        (definition(group=""), [("metadata.name", INVALID), ("spec.group", REQUIRED)]),
        (definition(scope=""), [("spec.scope", REQUIRED)]),
        (definition(names={"plural": "Things"}), [("metadata.name", INVALID), ("spec.names.plural", INVALID)]),
        (
            definition(names={"kind": "Thing!"}),
            [("spec.names.kind", INVALID), ("spec.names.listKind", INVALID), ("spec.names.singular", INVALID)],
        ),
        (
            definition(names={"kind": ""}),
            [("spec.names.kind", REQUIRED), ("spec.names.listKind", REQUIRED), ("spec.names.singular", REQUIRED)],
        ),
        (definition(names={"listKind": "Thing"}), [("spec.names.listKind", INVALID)]),
        (definition(names={"shortNames": ["ok", "Bad"]}), [("spec.names.shortNames[1]", INVALID)]),
        (definition(names={"categories": ["a b"]}), [("spec.names.categories[0]", INVALID)]),
        (definition(version(storage=False)), BOTH),
        (definition(version("V1")), [("spec.version", INVALID), ("spec.versions[0].name", INVALID)]),
        (definition(version(), version(storage=False)), [("spec.versions", INVALID)]),
        (
            definition(version(), {"name": "v2", "served": True, "storage": False}),
            [("spec.versions[1].schema.openAPIV3Schema", REQUIRED)],
        ),
        (definition(version(deprecationWarning="x")), [("spec.versions[0].deprecationWarning", INVALID)]),
        (definition(preserveUnknownFields=True), [("spec.preserveUnknownFields", INVALID)]),
        (definition(with_schema(nullable=True)), [("spec.validation.openAPIV3Schema.nullable", FORBIDDEN)]),
        (
            definition(version(subresources={"scale": {}})),
            [("spec.subresources.scale.specReplicasPath", REQUIRED), ("spec.subresources.scale.statusReplicasPath", REQUIRED)],
        ),
        (
            definition(
                version(
                    subresources={
                        "scale": {"specReplicasPath": ".status.n", "statusReplicasPath": "status.n", "labelSelectorPath": ".x"}
                    }
                )
            ),
            [
                (f"spec.subresources.scale.{field}", INVALID)
                for field in ("labelSelectorPath", "specReplicasPath", "statusReplicasPath")
            ],
        ),
        (
            definition(with_schema(maxProperties=3) | {"subresources": {"status": {}}}),
            [("spec.validation.openAPIV3Schema", INVALID)],
        ),
        (
            definition(version(additionalPrinterColumns=[{"type": "text", "format": "x", "jsonPath": "a"}])),
            [
                ("spec.additionalPrinterColumns[0].JSONPath", INVALID),
                ("spec.additionalPrinterColumns[0].format", INVALID),
                ("spec.additionalPrinterColumns[0].name", REQUIRED),
                ("spec.additionalPrinterColumns[0].type", INVALID),
            ],
        ),
        (
            definition(version(), version("v2", storage=False, additionalPrinterColumns=[{"name": "a", "type": "string"}])),
            [("spec.versions[1].additionalPrinterColumns[0].JSONPath", REQUIRED)],
        ),
        (
            definition(
                with_schema(properties={"spec": {"type": "object", "properties": {"n": {"type": "number"}}}})
                | {"selectableFields": [{"jsonPath": ".spec.n"}, {"jsonPath": ".spec.x"}, {}]}
            ),
            [
                ("spec.selectableFields[0].jsonPath", INVALID),
                ("spec.selectableFields[1].jsonPath", INVALID),
                ("spec.selectableFields[2].jsonPath", REQUIRED),
            ],
        ),
        (definition(conversion={"strategy": "Magic"}), [("spec.conversion.strategy", UNSUPPORTED)]),
        (
            definition(conversion={"strategy": "Webhook"}),
            [("spec.conversion.conversionReviewVersions", REQUIRED), ("spec.conversion.webhookClientConfig", REQUIRED)],
        ),
        (
            definition(
                conversion={
                    "strategy": "Webhook",
                    "webhook": {"clientConfig": {"url": "http://u:p@h?q#f"}, "conversionReviewVersions": ["v9", "v9"]},
                }
            ),
            [
                ("spec.conversion.conversionReviewVersions", INVALID),
                ("spec.conversion.conversionReviewVersions[1]", INVALID),
                ("spec.conversion.webhookClientConfig.url", INVALID),
            ],
        ),
        (
            definition(
                conversion={
                    "strategy": "Webhook",
                    "webhook": {"clientConfig": {"service": {"port": 0, "path": "x"}}, "conversionReviewVersions": ["v1"]},
                }
            ),
            [
                (f"spec.conversion.webhookClientConfig.service.{field}", reason)
                for field, reason in (("name", REQUIRED), ("namespace", REQUIRED), ("path", INVALID), ("port", INVALID))
            ],
        ),
        (
            definition(conversion={"strategy": "None", "webhook": {"clientConfig": {}, "conversionReviewVersions": ["v1"]}}),
            [("spec.conversion.conversionReviewVersions", FORBIDDEN), ("spec.conversion.webhookClientConfig", FORBIDDEN)],
        ),
    ],
)
def test_refusals_by_rule(crd: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert refusals(crd) == expected


def test_a_schema_of_all_versions_is_named_at_the_top_and_one_of_some_where_it_stands() -> None:
    bad = {"openAPIV3Schema": {"type": "object", "properties": {"a": {}}}}
    shared = definition(version(schema=bad), version("v2", storage=False, schema=bad))
    assert refusals(shared) == [("spec.validation.openAPIV3Schema.properties[a].type", REQUIRED)]
    second = definition(version(), version("v2", storage=False, schema=bad))
    assert refusals(second) == [("spec.versions[1].schema.openAPIV3Schema.properties[a].type", REQUIRED)]


@pytest.mark.parametrize(
    ("annotation", "reasons"),
    [
        ("https://github.com/kubernetes/kubernetes/pull/1", []),
        ("unapproved, experimental", []),
        ("yes", [INVALID]),
        ("", [REQUIRED]),
    ],
)
def test_the_communitys_groups_need_approval(annotation: str, reasons: list[str]) -> None:
    crd = definition(group="x.kubernetes.io")
    crd["metadata"] = {"name": "things.x.kubernetes.io", "annotations": {"api-approved.kubernetes.io": annotation}}
    assert [one.reason for one in validate_create(crd)] == reasons


def updates(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[str, str]]:
    prepare_update(new, old)
    return [(one.field, one.reason) for one in validate_update(new, old)]


def test_what_may_not_change() -> None:
    old, new = definition(), definition(group="other.com", scope="Cluster", names={"plural": "others", "kind": "Other"})
    assert updates(old, new) == [("spec.group", INVALID), ("spec.names.plural", INVALID)]
    old["status"]["conditions"] = [{"type": "Established", "status": "True"}]
    fields = {field for field, _ in updates(old, new)}
    assert fields == {"spec.group", "spec.names.plural", "spec.scope", "spec.names.kind"}


def test_a_stored_version_stays_until_nothing_is_stored_in_it() -> None:
    old, new = definition(), definition(version("v2"))
    assert updates(old, new) == [("status.storedVersions[0]", INVALID)]
    both = definition(version(storage=False), version("v2"))
    assert updates(old, both) == []
    assert both["status"]["storedVersions"] == ["v1", "v2"]
    assert storage_version(both) == "v2"
    again = definition(version(storage=False), version("v2"))
    assert updates(both, again) == []
    assert again["status"]["storedVersions"] == ["v1", "v2"]


def test_missing_approval_may_stay_missing() -> None:
    old, new = definition(group="x.k8s.io"), definition(group="x.k8s.io", scope="Cluster")
    assert updates(old, new) == []


def test_a_status_must_not_hold_bad_names() -> None:
    crd = definition()
    crd["status"]["acceptedNames"] = {"plural": "Bad", "kind": "Thing"}
    assert [one.field for one in validate_status_update(crd)] == ["status.acceptedNames.plural"]
