"""The paths and operations of a resource in an intermediate form, which `v2` and `v3` convert to their formats.

    pods: list, create, get      /api/v1/namespaces/{namespace}/pods           get (list), post (create)
                                 /api/v1/namespaces/{namespace}/pods/{name}    get
                                 /api/v1/pods                                  get (list)

Clients depend on details: kubectl examines the PATCH operation of a kind, found by its `x-kubernetes-group-version-kind`, to learn
whether the server supports `fieldValidation` and dry run. `x-kubernetes-action` has its own verb names: post for create, put for
update.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from probate.api.catalog import Resource, Subresource
from probate.api.gvk import GroupVersion
from probate.server.openapi import definitions, parameters
from probate.server.openapi.definitions import Definitions

JSON_TYPES = ("application/json", "application/yaml")
PATCH_TYPES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
CUSTOM_PATCH_TYPES = tuple(one for one in PATCH_TYPES if "strategic" not in one)  # strategic merge needs merge keys


class Verb(NamedTuple):
    """The HTTP method, action and operation name of a verb."""

    method: str
    action: str
    word: str
    codes: tuple[int, ...] = (200,)


VERBS = {
    "list": Verb("get", "list", "list"),
    "create": Verb("post", "post", "create", (200, 201, 202)),
    "deletecollection": Verb("delete", "deletecollection", "delete"),
    "get": Verb("get", "get", "read"),
    "update": Verb("put", "put", "replace", (200, 201)),
    "patch": Verb("patch", "patch", "patch", (200, 201)),
    "delete": Verb("delete", "delete", "delete", (200, 202)),
}
ON_COLLECTIONS = ("list", "create", "deletecollection")
ON_OBJECTS = ("get", "update", "patch", "delete")


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One method of one path. `body` and `answer` are names of definitions; an empty `answer` denotes plain text."""

    method: str
    id: str
    description: str
    tag: str
    action: str = ""
    kind: dict[str, str] | None = None
    parameters: tuple[str, ...] = ()
    body: str = ""
    is_body_required: bool = True
    consumes: tuple[str, ...] = JSON_TYPES
    produces: tuple[str, ...] = ("application/json",)
    answer: str = ""
    codes: tuple[int, ...] = (200,)


class PathItem(msgspec.Struct, frozen=True):
    """One path: the parameters common to all its operations, and the operations."""

    parameters: tuple[str, ...]
    operations: tuple[Operation, ...]


def of_resource(resource: Resource, known: Definitions) -> dict[str, PathItem]:
    """Returns all paths of the resource, its objects and their subresources."""
    return dict(_Paths(resource, known).all())


def root(group_version: GroupVersion) -> str:
    """Returns the root path of a group version."""
    return f"/apis/{group_version}" if group_version.group else f"/api/{group_version}"


def camel_case(group: str) -> str:
    """Returns the group name in operation ids and tags: `RbacAuthorization` for rbac.authorization.k8s.io."""
    return "".join(part[:1].upper() + part[1:] for part in group.removesuffix(".k8s.io").replace("-", ".").split(".")) or "Core"


def tag_of(group: str, version: str) -> str:
    """Returns the tag of the operations of a version: `rbacAuthorization_v1`."""
    name = camel_case(group)
    return "_".join(filter(None, (name[0].lower() + name[1:], version)))


class _Paths:
    def __init__(self, resource: Resource, known: Definitions) -> None:
        self._resource = resource
        self._known = known
        self._root = root(resource.group_version)
        self._name = known.name(resource.group, resource.version, resource.kind)
        self._prefix = camel_case(resource.group) + resource.version[:1].upper() + resource.version[1:]

    def all(self) -> Iterator[tuple[str, PathItem]]:
        resource = self._resource
        scope = "/namespaces/{namespace}" if resource.is_namespaced else ""
        scope_names = ("namespace",) if resource.is_namespaced else ()
        collection = f"{self._root}{scope}/{resource.plural}"
        if operations := self._operations(ON_COLLECTIONS):
            yield collection, PathItem((*scope_names, "pretty"), operations)
        if operations := self._operations(ON_OBJECTS):
            yield collection + "/{name}", PathItem(("name", *scope_names, "pretty"), operations)
        for one in resource.subresources:
            yield from self._of_subresource(one, collection, scope_names)
        if resource.is_namespaced and "list" in resource.verbs:
            yield f"{self._root}/{resource.plural}", PathItem(("pretty",), (self._everywhere(),))

    def _operations(self, verbs: tuple[str, ...]) -> tuple[Operation, ...]:
        return tuple(self._operation(verb) for verb in verbs if verb in self._resource.verbs)

    def _operation(self, verb: str) -> Operation:
        resource = self._resource
        kind = {"group": resource.group, "kind": resource.kind, "version": resource.version}
        answer = definitions.STATUS if verb.startswith("delete") else self._name
        collection = "Collection" if verb == "deletecollection" else ""
        result = self._make(verb, f"{collection}{self._scope_word}{resource.kind}", kind, sent=self._name, answer=answer)
        if verb == "list":
            streamed = (*result.produces, "application/json;stream=watch")
            return msgspec.structs.replace(result, answer=self._known.list_name(self._name), produces=streamed)
        return result

    def _everywhere(self) -> Operation:
        name = f"list{self._prefix}{self._resource.kind}ForAllNamespaces"
        return msgspec.structs.replace(self._operation("list"), id=name)

    @property
    def _scope_word(self) -> str:
        return "Namespaced" if self._resource.is_namespaced else ""

    def _of_subresource(self, part: Subresource, collection: str, scope_names: tuple[str, ...]) -> Iterator[tuple[str, PathItem]]:
        path = f"{collection}/{{name}}/{part.name}"
        operations = tuple(self._part_operation(part, verb) for verb in (*ON_COLLECTIONS, *ON_OBJECTS) if verb in part.verbs)
        yield path, PathItem(("name", *scope_names, "pretty"), operations)
        if part.name == "proxy":
            deeper = tuple(msgspec.structs.replace(one, id=one.id + "WithPath") for one in operations)
            yield path + "/{path}", PathItem(("name", *scope_names, "path", "pretty"), deeper)

    def _part_operation(self, part: Subresource, verb: str) -> Operation:
        kind = {"group": part.group, "kind": part.kind, "version": part.version}
        if not part.version:
            kind |= {"group": self._resource.group, "version": self._resource.version}
        sent = self._known.name(kind["group"], kind["version"], kind["kind"])
        ends = f"{self._scope_word}{self._resource.kind}{part.name[:1].upper()}{part.name[1:]}"
        if not sent:
            return self._connection(part, verb, ends, kind=kind)
        result = self._make(verb, ends, kind, sent=sent, answer=sent)
        if part.name == "log":
            more = parameters.OF_SUBRESOURCE["log"]
            return msgspec.structs.replace(result, answer="", produces=("text/plain", "application/json"), parameters=more)
        return result

    def _connection(self, part: Subresource, verb: str, ends: str, *, kind: dict[str, str]) -> Operation:
        """Describes a connect operation (exec, proxy), which transfers no objects."""
        method = VERBS[verb].method
        return Operation(
            method=method,
            id=f"connect{self._prefix}{method.capitalize()}{ends}",
            description=f"Connect {method.upper()} requests to {part.name} of {self._resource.kind}",
            tag=tag_of(self._resource.group, self._resource.version),
            action="connect",
            kind=kind,
            parameters=parameters.OF_SUBRESOURCE.get(part.name, ()),
            consumes=("*/*",),
            produces=("*/*",),
        )

    def _make(self, verb: str, ends: str, kind: dict[str, str], *, sent: str, answer: str) -> Operation:
        how = VERBS[verb]
        bodies = {"create": sent, "update": sent, "patch": definitions.PATCH}
        is_deletion = verb.startswith("delete")
        return Operation(
            method=how.method,
            id=f"{how.word}{self._prefix}{ends}",
            description=f"{verb} {self._resource.plural}"
            if sent == self._name
            else f"{verb} {kind['kind']} of {self._resource.plural}",
            tag=tag_of(self._resource.group, self._resource.version),
            action=how.action,
            kind=kind,
            parameters=parameters.OF_VERB[verb],
            body=definitions.DELETE_OPTIONS if is_deletion else bodies.get(verb, ""),
            is_body_required=not is_deletion,
            consumes=self._consumed(verb),
            answer=answer,
            codes=how.codes,
        )

    def _consumed(self, verb: str) -> tuple[str, ...]:
        if verb != "patch":
            return JSON_TYPES
        return CUSTOM_PATCH_TYPES if self._resource.is_custom else PATCH_TYPES
