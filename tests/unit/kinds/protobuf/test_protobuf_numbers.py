from __future__ import annotations

from collections.abc import Iterator

import pytest

from probate.api.schema.node import Schema
from probate.kinds.builtin import catalog
from probate.kinds.protobuf import field_numbers, special_types

OF_THE_ENVELOPE = {"apiVersion", "kind"}


def kinds_that_may_be_sent() -> Iterator[tuple[str, str, str]]:
    yield "", "v1", "DeleteOptions"
    for resource in filter(lambda one: one.has_protobuf, catalog.load()):
        yield resource.group, resource.version, resource.kind
        yield resource.group, resource.version, f"{resource.kind}List"
        for part in resource.subresources:
            yield part.group or resource.group, part.version or resource.version, part.kind


def types_within(schema: Schema, seen: dict[str, Schema]) -> None:
    for inner in (*schema.properties.values(), schema.items, schema.values):
        if inner is not None and not (inner.name and inner.name in seen):
            if inner.name:
                seen[inner.name] = inner
            types_within(inner, seen)


def all_types() -> dict[str, Schema]:
    seen: dict[str, Schema] = {}
    for kind in kinds_that_may_be_sent():
        schema = catalog.schema(*kind)
        if schema is not None and schema.name not in seen:
            seen[schema.name] = schema
            types_within(schema, seen)
    return seen


def flat_names(definition: str) -> Iterator[str]:
    for field in (field_numbers.fields_of(definition) or {}).values():
        if field.inlined:
            yield from flat_names(field.inlined)
        else:
            yield field.name


def is_special(name: str) -> bool:
    return name in special_types.READERS or name in special_types.SCHEMA_READERS


def test_every_type_that_may_be_sent_has_a_number_for_each_of_its_fields() -> None:
    types = {name: schema for name, schema in all_types().items() if not is_special(name)}
    assert len(types) > 500
    missing = {
        f"{name}.{field}"
        for name, schema in types.items()
        for field in schema.properties.keys() - set(flat_names(name))
        if field not in OF_THE_ENVELOPE
    }
    assert not missing
    assert not types.keys() - field_numbers.definitions()


def test_no_number_belongs_to_a_field_that_the_schema_lacks() -> None:
    types = {name: schema for name, schema in all_types().items() if not is_special(name)}
    assert not {f"{name}.{field}" for name, schema in types.items() for field in set(flat_names(name)) - schema.properties.keys()}


def test_every_type_can_be_read_and_its_numbers_ascend() -> None:
    for definition in field_numbers.definitions():
        fields = field_numbers.fields_of(definition)
        assert fields is not None
        assert list(fields) == sorted(fields), definition
        assert len({one.name or one.inlined for one in fields.values()}) == len(fields), definition


@pytest.mark.parametrize(
    ("definition", "field", "number"),
    [
        ("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "managedFields", 17),
        ("io.k8s.api.core.v1.PodSpec", "initContainers", 20),
        ("io.k8s.api.core.v1.ServicePort", "appProtocol", 6),
        ("io.k8s.api.apps.v1.DeploymentSpec", "progressDeadlineSeconds", 9),
        ("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps", "x-kubernetes-validations", 44),
        ("io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIServiceSpec", "versionPriority", 8),
    ],
)
def test_fields_after_a_gap_have_their_own_number(definition: str, field: str, number: int) -> None:
    found = {one.name: one.number for one in (field_numbers.fields_of(definition) or {}).values()}
    assert found[field] == number


def test_a_type_of_no_package_that_is_known_has_no_protobuf_form() -> None:
    assert field_numbers.fields_of("com.example.v1.Widget") is None
