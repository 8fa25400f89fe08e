"""The OpenAPI documents of one catalog, as they are sent: built at the first request, then cached.

A catalog never changes, and neither do its documents. When kinds are added or removed, create new `Documents`: the old ones
still describe their catalog correctly. Creation is cheap; the first request for each document takes some tens of milliseconds.

    GET /openapi/v2 (JSON)         documents.v2_json
    GET /openapi/v2 (protobuf)     documents.v2_protobuf        Accept: protobuf.ACCEPTED
    GET /openapi/v3                documents.v3_index
    GET /openapi/v3/apis/apps/v1   documents.v3("apis/apps/v1")   None if the section does not exist
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import orjson

from probate.api.catalog import Catalog
from probate.server.openapi import custom_definitions, protobuf, sections, v2, v3
from probate.server.openapi.definitions import Definitions, JsonSchema

JSON = "application/json"


class Document(NamedTuple):
    """A document as it is sent. The same content has the same `etag`, which is quoted as the header requires."""

    body: bytes
    content_type: str
    etag: str

    @property
    def hash(self) -> str:
        """The ETag's text. The index puts it into the document's URL."""
        return self.etag.strip('"')


class Documents:
    """All documents of one catalog. `builtin` are the definitions of the built-in kinds, `crds` the CustomResourceDefinitions."""

    def __init__(
        self, catalog: Catalog, builtin: Mapping[str, JsonSchema], crds: Iterable[dict[str, Any]] = (), *, version: str
    ) -> None:
        self._catalog = catalog
        self._builtin = builtin
        self._crds = tuple(crds)
        self._version = version
        self._made: dict[str, Document] = {}

    @cached_property
    def v2_json(self) -> Document:
        return _document(orjson.dumps(self._v2), JSON)

    @cached_property
    def v2_protobuf(self) -> Document:
        return _document(protobuf.encode(self._v2), protobuf.CONTENT_TYPE)

    @cached_property
    def v3_index(self) -> Document:
        """Builds the document of every section, because the index contains their hashes."""
        made = [(name, self._section(name)) for name in self._sections]
        return _document(orjson.dumps(v3.index({name: one.hash for name, one in made})), JSON)

    def v3(self, section: str) -> Document | None:
        """The document of one section, such as `apis/apps/v1`; None if the section does not exist."""
        return self._section(section) if section in self._sections else None

    def _section(self, name: str) -> Document:
        if name not in self._made:
            content = v3.document(self._sections[name], self._v3_definitions, version=self._version)
            self._made[name] = _document(orjson.dumps(content), JSON)
        return self._made[name]

    @property
    def _v2(self) -> dict[str, Any]:
        """Builds the document. Not cached: as objects, it takes many times the memory of its bytes."""
        added = {name: one for crd in self._crds for name, one in custom_definitions.v2_definitions(crd).items()}
        return v2.document(self._catalog, Definitions({**added, **self._builtin}), version=self._version)

    @cached_property
    def _v3_definitions(self) -> Definitions:
        added = {name: one for crd in self._crds for name, one in custom_definitions.v3_definitions(crd).items()}
        return Definitions({**added, **self._builtin})

    @cached_property
    def _sections(self) -> dict[str, sections.Section]:
        return sections.of_catalog(self._catalog)


def _document(body: bytes, content_type: str) -> Document:
    return Document(body, content_type, f'"{hashlib.sha256(body).hexdigest().upper()}"')
