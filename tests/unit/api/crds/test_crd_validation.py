"""Validation of CRDs: the field errors recorded from Kubernetes, and one case per rule."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from probate.api.crds.crd_validation import validate_create, validate_status_update, validate_update
from probate.api.crds.strategy import prepare_create, prepare_update, set_defaults, storage_version

ROWS = json.loads((Path(__file__).parents[3] / "data" / "crd-refusals.json").read_text())
REQUIRED, FORBIDDEN, INVALID, UNSUPPORTED = (
    "FieldValueRequired",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueNotSupported",
)


def version(name: str = "v1", **fields: Any) -> dict[str, Any]:
    return {"name": name, "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}, **fields}


def new_crd(*versions: dict[str, Any], names: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
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


def create_errors(crd: dict[str, Any]) -> list[tuple[str, str]]:
    return sorted({(error.field, error.reason) for error in validate_create(crd)})


def with_schema(**keywords: Any) -> dict[str, Any]:
    return version(schema={"openAPIV3Schema": {"type": "object", **keywords}})


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_recorded_field_errors(row: dict[str, Any]) -> None:
    crd = copy.deepcopy(row["request"]["body"])
    set_defaults(crd)
    prepare_create(crd)
    assert create_errors(crd) == sorted((cause["field"], cause["reason"]) for cause in row["causes"])


def test_defaults_and_first_status() -> None:
    crd = new_crd()
    assert crd["spec"]["names"] == {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    assert crd["spec"]["conversion"] == {"strategy": "None"}
    assert crd["status"] == {"acceptedNames": {"plural": "", "kind": ""}, "conditions": None, "storedVersions": ["v1"]}


def test_valid_crds() -> None:
    second = version("v2", storage=False, schema={"openAPIV3Schema": {"type": "object", "properties": {"a": {"type": "string"}}}})
    scale = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n", "labelSelectorPath": ".status.s"}
    column = {"name": "N", "type": "integer", "format": "int32", "jsonPath": ".spec.n"}
    full_version = with_schema(properties={"spec": {"type": "object", "properties": {"c": {"type": "string"}}}})
    full_version |= {"subresources": {"status": {}, "scale": scale}, "additionalPrinterColumns": [column]}
    full_version |= {"selectableFields": [{"jsonPath": ".spec.c"}], "deprecated": True, "deprecationWarning": "use another"}
    webhook = {"clientConfig": {"service": {"name": "a", "namespace": "b", "path": "/c"}}, "conversionReviewVersions": ["v1"]}
    assert create_errors(new_crd()) == []
    assert create_errors(new_crd(version(), second)) == []
    assert create_errors(new_crd(full_version, names={"shortNames": ["th"], "categories": ["all"]})) == []
    assert create_errors(new_crd(conversion={"strategy": "Webhook", "webhook": webhook})) == []


NO_STORAGE_VERSION = [("spec.versions", INVALID), ("status.storedVersions", INVALID)]


@pytest.mark.parametrize(
    ("crd", "expected"),
    [
        (new_crd(group="example"), [("metadata.name", INVALID), ("spec.group", INVALID)]),
        (new_crd(group=""), [("metadata.name", INVALID), ("spec.group", REQUIRED)]),
        (new_crd(scope=""), [("spec.scope", REQUIRED)]),
        (new_crd(names={"plural": "Things"}), [("metadata.name", INVALID), ("spec.names.plural", INVALID)]),
        (
            new_crd(names={"kind": "Thing!"}),
            [("spec.names.kind", INVALID), ("spec.names.listKind", INVALID), ("spec.names.singular", INVALID)],
        ),
        (
            new_crd(names={"kind": ""}),
            [("spec.names.kind", REQUIRED), ("spec.names.listKind", REQUIRED), ("spec.names.singular", REQUIRED)],
        ),
        (new_crd(names={"listKind": "Thing"}), [("spec.names.listKind", INVALID)]),
        (new_crd(names={"shortNames": ["ok", "Bad"]}), [("spec.names.shortNames[1]", INVALID)]),
        (new_crd(names={"categories": ["a b"]}), [("spec.names.categories[0]", INVALID)]),
        (new_crd(version(storage=False)), NO_STORAGE_VERSION),
        (new_crd(version("V1")), [("spec.version", INVALID), ("spec.versions[0].name", INVALID)]),
        (new_crd(version(), version(storage=False)), [("spec.versions", INVALID)]),
        (
            new_crd(version(), {"name": "v2", "served": True, "storage": False}),
            [("spec.versions[1].schema.openAPIV3Schema", REQUIRED)],
        ),
        (new_crd(version(deprecationWarning="x")), [("spec.versions[0].deprecationWarning", INVALID)]),
        (new_crd(preserveUnknownFields=True), [("spec.preserveUnknownFields", INVALID)]),
        (new_crd(with_schema(nullable=True)), [("spec.validation.openAPIV3Schema.nullable", FORBIDDEN)]),
        (
            new_crd(version(subresources={"scale": {}})),
            [("spec.subresources.scale.specReplicasPath", REQUIRED), ("spec.subresources.scale.statusReplicasPath", REQUIRED)],
        ),
        (
            new_crd(
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
            new_crd(with_schema(maxProperties=3) | {"subresources": {"status": {}}}),
            [("spec.validation.openAPIV3Schema", INVALID)],
        ),
        (
            new_crd(version(additionalPrinterColumns=[{"type": "text", "format": "x", "jsonPath": "a"}])),
            [
                ("spec.additionalPrinterColumns[0].JSONPath", INVALID),
                ("spec.additionalPrinterColumns[0].format", INVALID),
                ("spec.additionalPrinterColumns[0].name", REQUIRED),
                ("spec.additionalPrinterColumns[0].type", INVALID),
            ],
        ),
        (
            new_crd(version(), version("v2", storage=False, additionalPrinterColumns=[{"name": "a", "type": "string"}])),
            [("spec.versions[1].additionalPrinterColumns[0].JSONPath", REQUIRED)],
        ),
        (
            new_crd(
                with_schema(properties={"spec": {"type": "object", "properties": {"n": {"type": "number"}}}})
                | {"selectableFields": [{"jsonPath": ".spec.n"}, {"jsonPath": ".spec.x"}, {}]}
            ),
            [
                ("spec.selectableFields[0].jsonPath", INVALID),
                ("spec.selectableFields[1].jsonPath", INVALID),
                ("spec.selectableFields[2].jsonPath", REQUIRED),
            ],
        ),
        (new_crd(conversion={"strategy": "Magic"}), [("spec.conversion.strategy", UNSUPPORTED)]),
        (
            new_crd(conversion={"strategy": "Webhook"}),
            [("spec.conversion.conversionReviewVersions", REQUIRED), ("spec.conversion.webhookClientConfig", REQUIRED)],
        ),
        (
            new_crd(
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
            new_crd(
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
            new_crd(conversion={"strategy": "None", "webhook": {"clientConfig": {}, "conversionReviewVersions": ["v1"]}}),
            [("spec.conversion.conversionReviewVersions", FORBIDDEN), ("spec.conversion.webhookClientConfig", FORBIDDEN)],
        ),
    ],
)
def test_field_errors_by_rule(crd: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert create_errors(crd) == expected


def test_a_schema_shared_by_all_versions_is_reported_at_the_top_level_and_others_at_their_version() -> None:
    bad = {"openAPIV3Schema": {"type": "object", "properties": {"a": {}}}}
    shared = new_crd(version(schema=bad), version("v2", storage=False, schema=bad))
    assert create_errors(shared) == [("spec.validation.openAPIV3Schema.properties[a].type", REQUIRED)]
    second = new_crd(version(), version("v2", storage=False, schema=bad))
    assert create_errors(second) == [("spec.versions[1].schema.openAPIV3Schema.properties[a].type", REQUIRED)]


@pytest.mark.parametrize(
    ("annotation", "reasons"),
    [
        ("https://github.com/kubernetes/kubernetes/pull/1", []),
        ("unapproved, experimental", []),
        ("yes", [INVALID]),
        ("", [REQUIRED]),
    ],
)
def test_crds_in_community_groups_need_approval(annotation: str, reasons: list[str]) -> None:
    crd = new_crd(group="x.kubernetes.io")
    crd["metadata"] = {"name": "things.x.kubernetes.io", "annotations": {"api-approved.kubernetes.io": annotation}}
    assert [error.reason for error in validate_create(crd)] == reasons


def update_errors(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[str, str]]:
    prepare_update(new, old)
    return [(error.field, error.reason) for error in validate_update(new, old)]


def test_immutable_fields() -> None:
    old, new = new_crd(), new_crd(group="other.com", scope="Cluster", names={"plural": "others", "kind": "Other"})
    assert update_errors(old, new) == [("spec.group", INVALID), ("spec.names.plural", INVALID)]
    old["status"]["conditions"] = [{"type": "Established", "status": "True"}]
    fields = {field for field, _ in update_errors(old, new)}
    assert fields == {"spec.group", "spec.names.plural", "spec.scope", "spec.names.kind"}


def test_a_stored_version_must_stay_in_the_spec() -> None:
    old, new = new_crd(), new_crd(version("v2"))
    assert update_errors(old, new) == [("status.storedVersions[0]", INVALID)]
    both = new_crd(version(storage=False), version("v2"))
    assert update_errors(old, both) == []
    assert both["status"]["storedVersions"] == ["v1", "v2"]
    assert storage_version(both) == "v2"
    again = new_crd(version(storage=False), version("v2"))
    assert update_errors(both, again) == []
    assert again["status"]["storedVersions"] == ["v1", "v2"]


def test_missing_approval_may_stay_missing() -> None:
    old, new = new_crd(group="x.k8s.io"), new_crd(group="x.k8s.io", scope="Cluster")
    assert update_errors(old, new) == []


def test_a_status_must_not_contain_invalid_names() -> None:
    crd = new_crd()
    crd["status"]["acceptedNames"] = {"plural": "Bad", "kind": "Thing"}
    assert [error.field for error in validate_status_update(crd)] == ["status.acceptedNames.plural"]
