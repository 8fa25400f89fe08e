"""The variables and types that expressions of policies, and match conditions of webhooks, can use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from probate.api.cel.library import STANDARD
from probate.lib.cel.environment import Environment
from probate.lib.cel.types import BOOL, DYN, INT, STRING, Type, list_of, map_of

STRINGS, STRING_MAP = list_of(STRING), map_of(STRING, STRING)


def _object(**fields: Type) -> Type:
    return Type("object", fields=fields.get)


_KIND = _object(group=STRING, version=STRING, kind=STRING)
_RESOURCE = _object(group=STRING, version=STRING, resource=STRING)
_USER = _object(username=STRING, uid=STRING, groups=STRINGS, extra=map_of(STRING, STRINGS))
REQUEST = _object(
    uid=STRING,
    kind=_KIND,
    resource=_RESOURCE,
    subResource=STRING,
    requestKind=_KIND,
    requestResource=_RESOURCE,
    requestSubResource=STRING,
    name=STRING,
    namespace=STRING,
    operation=STRING,
    userInfo=_USER,
    dryRun=BOOL,
    options=DYN,
)
_META = _object(
    name=STRING,
    generateName=STRING,
    namespace=STRING,
    labels=STRING_MAP,
    annotations=STRING_MAP,
    UID=STRING,
    uid=STRING,
    creationTimestamp=DYN,
    deletionGracePeriodSeconds=INT,
    deletionTimestamp=DYN,
    generation=INT,
    resourceVersion=STRING,
    finalizers=STRINGS,
)
NAMESPACE = _object(metadata=_META, spec=_object(finalizers=STRINGS), status=_object(phase=STRING))
_CHECK = Type("kubernetes.authorization.ResourceCheck")
AUTHORIZER = Type("kubernetes.authorization.Authorizer", fields={"requestResource": _CHECK}.get)

VARIABLE_ORDER = ("object", "oldObject", "request", "namespaceObject", "params", "authorizer", "variables")
"""The order in which an evaluation passes the variables."""


class OptionalVariables(NamedTuple):
    """Which variables exist, and the types of the object and the parameters, if known."""

    params: Type | None = None
    has_authorizer: bool = True
    has_namespace: bool = True
    object: Type = DYN


def _dynamic_field(_: str) -> Type:
    return DYN


class MutationTypes(Mapping[str, Type]):
    """The types that mutations construct: `JSONPatch`, and `Object`, `Object.spec`, `Object.spec.template` and so on.

    `Object` types accept any field.
    """

    _PATCH = Type("JSONPatch", fields={"op": STRING, "path": STRING, "from": STRING, "value": DYN}.get)

    def __getitem__(self, name: str) -> Type:
        if name == "JSONPatch":
            return self._PATCH
        if name == "Object" or name.startswith("Object."):
            return Type(name, fields=_dynamic_field)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(("Object", "JSONPatch"))

    def __len__(self) -> int:
        return 2


MUTATION_TYPES = MutationTypes()


def environment(optional: OptionalVariables, variables: Mapping[str, Type] | None, *, mutates: bool = False) -> Environment:
    """Returns the environment of an expression. `variables` are the policy's variables that it can use; None if there are none."""
    types: dict[str, Type] = {"object": optional.object, "oldObject": optional.object, "request": REQUEST}
    types["namespaceObject"] = NAMESPACE
    types["params"] = optional.params or DYN
    types["authorizer"] = AUTHORIZER
    types["variables"] = Type("variables", fields=dict(variables or {}).get)
    hidden = {name for name, is_present in _presence(optional, variables) if not is_present}
    visible = {(f"@{name}" if name in hidden else name): types[name] for name in VARIABLE_ORDER}
    return Environment(visible, STANDARD, MUTATION_TYPES if mutates else {})


def _presence(optional: OptionalVariables, variables: Any) -> Iterator[tuple[str, bool]]:
    yield "params", optional.params is not None
    yield "authorizer", optional.has_authorizer
    yield "namespaceObject", optional.has_namespace
    yield "variables", variables is not None
