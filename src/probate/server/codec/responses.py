"""Encodes responses in the requested format: whole objects, tables, or metadata only.

Responses are JSON; YAML and protobuf are generated from the JSON in a last step.
"""

from __future__ import annotations

from typing import Any

import orjson
import yaml

from probate.api.catalog import Resource
from probate.core.clock import Clock
from probate.kinds import tables
from probate.kinds.protobuf import encode
from probate.server.codec import negotiation, object_codec
from probate.server.codec.negotiation import Form
from probate.server.kind_rules.contract import ServedKinds
from probate.server.response import Response
from probate.store.contract import Record, Revision


class ResponseEncoder:
    """Encodes stored objects. The kinds and the time are for tables, whose columns depend on the kind and which show ages."""

    def __init__(self, kinds: ServedKinds, clock: Clock) -> None:
        self._kinds = kinds
        self._clock = clock

    def one(self, record: Record, resource: Resource, form: Form, *, code: int = 200, warnings: tuple[str, ...] = ()) -> Response:
        """Returns the response with one object."""
        if form.shape == "Table":
            return finish(self.table_of([record], resource, form, revision=record.revision), form, code=code, warnings=warnings)
        if form.shape:
            return finish(partial(object_codec.loaded(record, resource), form), form, code=code, warnings=warnings)
        body = object_codec.answered(record.value, record.revision, resource)
        return raw(body, form, code=code, warnings=warnings) if form.is_pretty else Response(code, body, warnings=warnings)

    def many(
        self,
        records: list[Record],
        resource: Resource,
        form: Form,
        *,
        revision: Revision,
        continue_: str = "",
        remaining: int | None = None,
    ) -> Response:
        """Returns the response with a list of objects."""
        if form.shape == "Table":
            body = self.table_of(records, resource, form, revision=revision, continue_=continue_, remaining=remaining)
            return finish(body, form)
        if form.shape:
            return finish(_partial_list(records, resource, form, revision=revision, continue_=continue_, remaining=remaining), form)
        items = object_codec.items(records, resource)
        return raw(object_codec.listing(resource, items, revision=revision, continue_=continue_, remaining=remaining), form)

    def table_of(
        self,
        records: list[Record],
        resource: Resource,
        form: Form,
        *,
        revision: Revision,
        continue_: str = "",
        remaining: int | None = None,
    ) -> dict[str, Any]:
        """Returns the objects as a Table with the printer columns of their kind."""
        printer = self._kinds.rules(resource).printer()
        rows = tables.rows(printer, (object_codec.loaded(record, resource) for record in records), now=self._clock.now())
        if form.included == "Object":
            rows = [row._replace(object=object_codec.in_version(row.object, resource)) for row in rows]
        return tables.document(
            printer.columns,
            rows,
            include_object=form.included,
            resource_version=str(revision),
            continue_=continue_,
            remaining=remaining,
            version=form.version,
        )


def weight(records: list[Record], form: Form) -> int:
    """Returns the number of bytes to decode and encode for this format; 0 if the stored bytes are sent unchanged."""
    return sum(len(record.value) for record in records) if form.shape or form.is_pretty else 0


def raw(body: bytes, form: Form, *, code: int = 200, warnings: tuple[str, ...] = ()) -> Response:
    """Returns the response with a JSON-encoded body."""
    if form.is_pretty:
        return finish(orjson.loads(body), form, code=code, warnings=warnings)
    return Response(code, body, warnings=warnings)


def finish(body: dict[str, Any], form: Form, *, code: int = 200, warnings: tuple[str, ...] = ()) -> Response:
    """Encodes a value in the requested format."""
    return Response(code, orjson.dumps(body, option=orjson.OPT_INDENT_2 if form.is_pretty else 0), warnings=warnings)


def one_made(body: dict[str, Any], form: Form, *, code: int = 200, warnings: tuple[str, ...] = ()) -> Response:
    """Returns the response with an object that is not stored, or with its metadata only. Tables are not supported."""
    return finish(partial(body, form) if form.shape else body, form, code=code, warnings=warnings)


def as_yaml(answer: Response) -> Response:
    """Converts a response to YAML. This is slow."""
    text = yaml.dump(orjson.loads(answer.body), Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)
    return answer._replace(body=text.encode(), content_type=negotiation.YAML, json_body=answer.body)


def as_protobuf(answer: Response) -> Response:
    """Converts a response to protobuf, if its kind has a protobuf format."""
    body = encode.encode(orjson.loads(answer.body))
    return answer if body is None else answer._replace(body=body, content_type=negotiation.PROTOBUF, json_body=answer.body)


def partial(object_: dict[str, Any], form: Form) -> dict[str, Any]:
    """Returns the PartialObjectMetadata of an object."""
    return {"kind": "PartialObjectMetadata", "apiVersion": f"meta.k8s.io/{form.version}", "metadata": object_["metadata"]}


def _partial_list(
    records: list[Record], resource: Resource, form: Form, *, revision: Revision, continue_: str, remaining: int | None
) -> dict[str, Any]:
    about: dict[str, Any] = {"resourceVersion": str(revision)}
    if continue_:
        about["continue"] = continue_
    if remaining is not None:
        about["remainingItemCount"] = remaining
    items = [partial(object_codec.loaded(record, resource), form) for record in records]
    return {"kind": "PartialObjectMetadataList", "apiVersion": f"meta.k8s.io/{form.version}", "metadata": about, "items": items}
