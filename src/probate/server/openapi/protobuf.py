"""Encodes the version 2 document as protobuf, the only format in which kubectl requests it.

The messages are those of OpenAPI version 2 in gnostic (package `openapi.v2`), without the parts that a Kubernetes document does
not use: forms, headers, examples, XML. The field numbers define the format; `protobuf_wire` encodes the fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probate.server.openapi.protobuf_wire import (
    Message,
    any_value,
    count,
    delimited,
    double,
    each,
    flag,
    flag_of_one,
    named,
    numbered,
    text,
    wrapped,
)

ACCEPTED = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
CONTENT_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"  # with a dot: ACCEPTED is not a valid media type


def encode(document: Mapping[str, Any]) -> bytes:
    """Encodes the document. Equal documents yield equal bytes."""
    return DOCUMENT.encode(document)


def _type(number: int, value: str | list[str]) -> bytes:
    return delimited(number, each(text)(1, [value] if isinstance(value, str) else value))


def _additional_properties(number: int, value: bool | Mapping[str, Any]) -> bytes:
    return delimited(number, flag_of_one(2, value) if isinstance(value, bool) else SCHEMA.write(1, value))


def _parameter(number: int, value: Mapping[str, Any]) -> bytes:
    place = value["in"]
    if place == "body":
        return delimited(number, BODY_PARAMETER.write(1, value))
    return delimited(number, delimited(2, QUERY_PARAMETER.write(3, value) if place == "query" else PATH_PARAMETER.write(4, value)))


def _parameter_or_reference(number: int, value: Mapping[str, Any]) -> bytes:
    return delimited(number, REFERENCE.write(2, value) if "$ref" in value else _parameter(1, value))


def _api_key(number: int, value: Mapping[str, Any]) -> bytes:
    return delimited(number, API_KEY.write(2, value))


SCHEMA = Message({}, extensions=31)
SCHEMA.fields.update(
    {
        **numbered(text, ("$ref", "format", "title", "description")),
        "default": (5, any_value),
        "multipleOf": (6, double),
        "maximum": (7, double),
        "exclusiveMaximum": (8, flag),
        "minimum": (9, double),
        "exclusiveMinimum": (10, flag),
        **numbered(count, ("maxLength", "minLength"), start=11),
        "pattern": (13, text),
        **numbered(count, ("maxItems", "minItems"), start=14),
        "uniqueItems": (16, flag),
        **numbered(count, ("maxProperties", "minProperties"), start=17),
        "required": (19, each(text)),
        "enum": (20, each(any_value)),
        "additionalProperties": (21, _additional_properties),
        "type": (22, _type),
        "items": (23, wrapped(SCHEMA.write)),
        "allOf": (24, each(SCHEMA.write)),
        "properties": (25, named(SCHEMA.write)),
        "readOnly": (27, flag),
    }
)
REFERENCE = Message({"$ref": (1, text)})
BODY_PARAMETER = Message({**numbered(text, ("description", "name", "in")), "required": (4, flag), "schema": (5, SCHEMA.write)})
_PARAMETER = {"required": (1, flag), **numbered(text, ("in", "description", "name"), start=2)}
QUERY_PARAMETER = Message({**_PARAMETER, **numbered(text, ("type", "format"), start=6), "uniqueItems": (20, flag)})
PATH_PARAMETER = Message({**_PARAMETER, **numbered(text, ("type", "format"), start=5), "uniqueItems": (19, flag)})
RESPONSE = Message({"description": (1, text), "schema": (2, wrapped(SCHEMA.write))}, extensions=5)
OPERATION = Message(
    {
        "tags": (1, each(text)),
        **numbered(text, ("summary", "description"), start=2),
        "operationId": (5, text),
        **numbered(each(text), ("produces", "consumes"), start=6),
        "parameters": (8, each(_parameter_or_reference)),
        "responses": (9, named(wrapped(RESPONSE.write))),
        "schemes": (10, each(text)),
        "deprecated": (11, flag),
    },
    extensions=13,
)
PATH_ITEM = Message(
    {
        **numbered(OPERATION.write, ("get", "put", "post", "delete", "options", "head", "patch"), start=2),
        "parameters": (9, each(_parameter_or_reference)),
    },
    extensions=10,
)
API_KEY = Message(numbered(text, ("type", "name", "in", "description")))
DOCUMENT = Message(
    {
        "swagger": (1, text),
        "info": (2, Message(numbered(text, ("title", "version", "description"))).write),
        "paths": (8, named(PATH_ITEM.write, by=2)),
        "definitions": (9, named(SCHEMA.write)),
        "parameters": (10, named(_parameter)),
        "security": (12, each(named(wrapped(each(text))))),
        "securityDefinitions": (13, named(_api_key)),
    },
    extensions=16,
)
