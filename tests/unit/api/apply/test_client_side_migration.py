"""kubectl may take over what it applied client-side, and keeps the annotation of client-side apply up to date."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from probate.api.apply import client_side_migration, field_sets
from probate.api.apply.client_side_migration import LAST_APPLIED_ANNOTATION
from probate.api.apply.schema_shapes import DEDUCED

LAST = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"kept": "1", "changed": "1", "gone": "1"}}


def live(last_applied: object) -> dict[str, Any]:
    """Returns an object that was changed after its client-side apply, with this annotation."""
    metadata = {"name": "a", "annotations": {LAST_APPLIED_ANNOTATION: last_applied}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"kept": "1", "changed": "2", "new": "1"}}


def transferable(last_applied: object) -> set[str]:
    return set(field_sets.paths(client_side_migration.transferable_fields(live(last_applied), DEDUCED, "v1")))


def test_fields_with_the_applied_values_are_transferable() -> None:
    found = transferable(orjson.dumps(LAST).decode())
    assert found == {".apiVersion", ".kind", ".metadata", ".metadata.name", ".data", ".data.kept"}


@pytest.mark.parametrize("last_applied", ["", "{", "null", "[1]", 7, orjson.dumps({**LAST, "apiVersion": "v2"}).decode()])
def test_nothing_is_transferable_without_a_readable_annotation_of_this_version(last_applied: object) -> None:
    assert transferable(last_applied) == set()


def test_annotation_becomes_the_applied_document_without_itself() -> None:
    document = {**LAST, "metadata": {"name": "a", "annotations": {"b": "c", LAST_APPLIED_ANNOTATION: "old"}}}
    updated = client_side_migration.update_last_applied(live("old"), document)
    text = updated["metadata"]["annotations"][LAST_APPLIED_ANNOTATION]
    assert text.endswith("}\n")
    assert orjson.loads(text) == {**LAST, "metadata": {"name": "a", "annotations": {"b": "c"}}}
    assert updated["data"] == live("old")["data"]


def test_document_without_annotations_gets_none() -> None:
    updated = client_side_migration.update_last_applied(live("old"), LAST)
    assert orjson.loads(updated["metadata"]["annotations"][LAST_APPLIED_ANNOTATION]) == LAST


def test_object_that_was_not_applied_client_side_stays_as_it_is() -> None:
    assert client_side_migration.update_last_applied(LAST, LAST) is LAST
