"""The protobuf form is read with Google's parser, by message types stated here a second time: it must be the JSON document."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import yaml
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from hypothesis import given
from hypothesis import strategies as st

from probate.core.errors import InvariantViolation
from probate.kinds.builtin import catalog
from probate.server.openapi import protobuf, protobuf_wire, v2
from probate.server.openapi.definitions import Definitions

# name=number:type, where a star is a repeated field. Names are the JSON document's where it has them.
MESSAGES = """
Document: swagger=1:string info=2:Info paths=8:Paths definitions=9:Schemas parameters=10:Parameters security=12:Lists*
Document: securityDefinitions=13:Securities x=16:NamedAny*
Info: title=1:string version=2:string description=3:string
Any: yaml=2:string
NamedAny: name=1:string value=2:Any
Paths: x=1:NamedAny* each=2:NamedPath*
NamedPath: name=1:string value=2:PathItem
PathItem: get=2:Operation put=3:Operation post=4:Operation delete=5:Operation options=6:Operation head=7:Operation
PathItem: patch=8:Operation parameters=9:ParametersItem* x=10:NamedAny*
Operation: tags=1:string* summary=2:string description=3:string operationId=5:string produces=6:string* consumes=7:string*
Operation: parameters=8:ParametersItem* responses=9:Responses schemes=10:string* deprecated=11:bool x=13:NamedAny*
ParametersItem: parameter=1:Parameter reference=2:Reference
Reference: $ref=1:string description=2:string
Parameter: body=1:Body plain=2:Plain
Plain: query=3:Query path=4:PathParameter
Body: description=1:string name=2:string in=3:string required=4:bool schema=5:Schema
Query: required=1:bool in=2:string description=3:string name=4:string type=6:string format=7:string uniqueItems=20:bool
PathParameter: required=1:bool in=2:string description=3:string name=4:string type=5:string format=6:string uniqueItems=19:bool
Parameters: each=1:NamedParameter*
NamedParameter: name=1:string value=2:Parameter
Responses: each=1:NamedResponse* x=2:NamedAny*
NamedResponse: name=1:string value=2:ResponseValue
ResponseValue: response=1:Response reference=2:Reference
Response: description=1:string schema=2:SchemaItem x=5:NamedAny*
SchemaItem: schema=1:Schema
Schema: $ref=1:string format=2:string title=3:string description=4:string default=5:Any multipleOf=6:double maximum=7:double
Schema: exclusiveMaximum=8:bool minimum=9:double exclusiveMinimum=10:bool maxLength=11:int64 minLength=12:int64
Schema: pattern=13:string maxItems=14:int64 minItems=15:int64 uniqueItems=16:bool maxProperties=17:int64
Schema: minProperties=18:int64 required=19:string* enum=20:Any* additionalProperties=21:Additional type=22:Texts items=23:Items
Schema: allOf=24:Schema* properties=25:Schemas discriminator=26:string readOnly=27:bool x=31:NamedAny*
Schemas: each=1:NamedSchema*
NamedSchema: name=1:string value=2:Schema
Additional: schema=1:Schema boolean=2:bool
Texts: value=1:string*
Items: schema=1:Schema*
Lists: each=1:NamedList*
NamedList: name=1:string value=2:Texts
Securities: each=1:NamedSecurity*
NamedSecurity: name=1:string value=2:Security
Security: apiKey=2:ApiKey
ApiKey: type=1:string name=2:string in=3:string description=4:string
"""
WHOLE = {"maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"}


@cache
def message_type(name: str) -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="openapi_as_tested.proto", package="tested", syntax="proto3")
    made: dict[str, Any] = {}
    for line in MESSAGES.strip().splitlines():
        message, _, fields = line.partition(": ")
        if message not in made:
            made[message] = file.message_type.add(name=message)
        for number, field in enumerate(fields.split(), len(made[message].field)):
            add_field(made[message], f"f{number}", field)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"tested.{name}"))


def add_field(message: Any, name: str, spelled: str) -> None:
    json_name, _, rest = spelled.partition("=")
    number, _, kind = rest.partition(":")
    field = message.field.add(name=name, json_name=json_name, number=int(number))
    field.label = field.LABEL_REPEATED if kind.endswith("*") else field.LABEL_OPTIONAL
    scalars = {"string": field.TYPE_STRING, "bool": field.TYPE_BOOL, "int64": field.TYPE_INT64, "double": field.TYPE_DOUBLE}
    field.type = scalars.get(kind.rstrip("*"), field.TYPE_MESSAGE)
    if field.type == field.TYPE_MESSAGE:
        field.type_name = f".tested.{kind.rstrip('*')}"
    if message.name == "Additional":  # one of two: false is then something else than nothing
        field.oneof_index = 0
        if not message.oneof_decl:
            message.oneof_decl.add(name="either")


def decoded(content: bytes, name: str) -> dict[str, Any]:
    message = message_type(name)()
    message.ParseFromString(content)
    whole = message.SerializeToString()
    message.DiscardUnknownFields()
    assert message.SerializeToString() == whole, "there are fields that the format does not have"
    made: dict[str, Any] = json_format.MessageToDict(message)
    return made


def mapped(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: {one["name"]: read(one["value"]) for one in value.get("each", ())}


def read_any(value: Any) -> Any:
    return yaml.safe_load(value["yaml"])


def read(value: dict[str, Any], readers: dict[str, Callable[[Any], Any]]) -> dict[str, Any]:
    made = {key: readers.get(key, lambda same: same)(one) for key, one in value.items() if key != "x"}
    return made | {one["name"]: read_any(one["value"]) for one in value.get("x", ())}


def read_schema(value: dict[str, Any]) -> dict[str, Any]:
    return read(
        value,
        {
            **dict.fromkeys(WHOLE, int),
            "default": read_any,
            "enum": lambda values: [read_any(one) for one in values],
            "type": lambda types: types["value"][0] if len(types["value"]) == 1 else types["value"],
            "items": lambda items: read_schema(items["schema"][0]),
            "additionalProperties": lambda one: read_schema(one["schema"]) if "schema" in one else one["boolean"],
            "allOf": lambda values: [read_schema(one) for one in values],
            "properties": mapped(read_schema),
        },
    )


def read_parameter(value: dict[str, Any]) -> dict[str, Any]:
    if "body" in value:
        return read(value["body"], {"schema": read_schema})
    ((place, one),) = value["plain"].items()
    assert one["in"] == place
    return dict(one)


def read_item(value: dict[str, Any]) -> dict[str, Any]:
    return dict(value["reference"]) if "reference" in value else read_parameter(value["parameter"])


def read_operation(value: dict[str, Any]) -> dict[str, Any]:
    def read_response(one: dict[str, Any]) -> dict[str, Any]:
        return read(one["response"], {"schema": lambda schema: read_schema(schema["schema"])})

    return read(value, {"parameters": lambda values: [read_item(one) for one in values], "responses": mapped(read_response)})


def read_path_item(value: dict[str, Any]) -> dict[str, Any]:
    methods = dict.fromkeys(("get", "put", "post", "delete", "patch"), read_operation)
    return read(value, {**methods, "parameters": lambda values: [read_item(one) for one in values]})


def read_document(content: bytes) -> dict[str, Any]:
    texts = mapped(lambda one: one.get("value", []))
    return read(
        decoded(content, "Document"),
        {
            "paths": mapped(read_path_item),
            "definitions": mapped(read_schema),
            "parameters": mapped(read_parameter),
            "security": lambda values: [texts(one) for one in values],
            "securityDefinitions": mapped(lambda one: one["apiKey"]),
        },
    )


def without_empty_lists(document: dict[str, Any]) -> dict[str, Any]:
    """Protobuf cannot tell an empty list from none: an operation without parameters of its own has none."""
    for item in document["paths"].values():
        for operation in item.values():
            if isinstance(operation, dict) and not operation["parameters"]:
                del operation["parameters"]
    return document


def test_the_whole_document_reads_back_as_its_json_form() -> None:
    document = v2.document(catalog.load(), Definitions(catalog.definitions()), version="v1.37.0")
    assert read_document(protobuf.encode(document)) == without_empty_lists(json.loads(json.dumps(document)))


def test_the_same_document_gives_the_same_bytes() -> None:
    known = Definitions(catalog.definitions())
    first, second = (protobuf.encode(v2.document(catalog.load(), known, version="v1.37.0")) for _ in range(2))
    assert first == second


def test_a_key_without_a_field_is_refused() -> None:
    with pytest.raises(InvariantViolation, match="oneOf"):
        protobuf.encode({"definitions": {"a": {"oneOf": []}}})


def test_response_has_a_valid_media_type_unlike_the_requested_one() -> None:
    assert "@" in protobuf.ACCEPTED
    assert protobuf.ACCEPTED.replace("@", ".") == protobuf.CONTENT_TYPE


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=20), inner, max_size=4),
    max_leaves=10,
)
schemas = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "$ref": st.text(min_size=1),
            "description": st.text(min_size=1),
            "default": json_values,
            "enum": st.lists(json_values, min_size=1, max_size=3),
            "type": st.sampled_from(["object", "array", "string", "integer"]),
            "minimum": st.floats(allow_nan=False, allow_infinity=False).filter(bool),
            "exclusiveMinimum": st.just(value=True),
            "maxLength": st.integers(-(2**63), 2**63 - 1).filter(bool),
            "required": st.lists(st.text(), min_size=1, max_size=3),
            "x-kubernetes-validations": json_values,
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "items": inner,
            "additionalProperties": inner | st.booleans(),
            "properties": st.dictionaries(st.text(min_size=1), inner, max_size=3),
            "allOf": st.lists(inner, min_size=1, max_size=2),
        },
    ),
    max_leaves=8,
)


@given(schemas)
def test_every_schema_reads_back(schema: dict[str, Any]) -> None:
    assert read_schema(decoded(protobuf.SCHEMA.encode(schema), "Schema")) == schema


@given(json_values)
def test_free_values_read_the_same_as_json_and_as_yaml(value: Any) -> None:
    assert json.loads(protobuf_wire.yaml_text(value)) == value
    assert yaml.safe_load(protobuf_wire.yaml_text(value)) == value
