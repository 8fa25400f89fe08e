"""What the expressions of policies, and match conditions of webhooks, may speak of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from probate.api.cel.library import STANDARD
from probate.lib.cel.environment import Environment
from probate.lib.cel.types import BOOL, DYN, INT, STRING, Type, list_of, map_of

TEXTS, TABLE = list_of(STRING), map_of(STRING, STRING)


def _object(**fields: Type) -> Type:
    return Type("object", fields=fields.get)


_KIND = _object(group=STRING, version=STRING, kind=STRING)
_RESOURCE = _object(group=STRING, version=STRING, resource=STRING)
_USER = _object(username=STRING, uid=STRING, groups=TEXTS, extra=map_of(STRING, TEXTS))
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
    labels=TABLE,
    annotations=TABLE,
    UID=STRING,
    uid=STRING,
    creationTimestamp=DYN,
    deletionGracePeriodSeconds=INT,
    deletionTimestamp=DYN,
    generation=INT,
    resourceVersion=STRING,
    finalizers=TEXTS,
)
NAMESPACE = _object(metadata=_META, spec=_object(finalizers=TEXTS), status=_object(phase=STRING))
_CHECK = Type("kubernetes.authorization.ResourceCheck")
AUTHORIZER = Type("kubernetes.authorization.Authorizer", fields={"requestResource": _CHECK}.get)

ORDER = ("object", "oldObject", "request", "namespaceObject", "params", "authorizer", "variables")
"""In which evaluations are given their variables."""


class Speaks(NamedTuple):
    """Which of the variables there are, and of what types the object and the parameters are, if that is known."""

    params: Type | None = None
    has_authorizer: bool = True
    has_namespace: bool = True
    object: Type = DYN


def _anything(_: str) -> Type:
    return DYN


class Structs(Mapping[str, Type]):
    """What mutations make: `Object`, `Object.spec`, `Object.spec.template` and so on, whatever their fields; and `JSONPatch`."""

    _PATCH = Type("JSONPatch", fields={"op": STRING, "path": STRING, "from": STRING, "value": DYN}.get)

    def __getitem__(self, name: str) -> Type:
        if name == "JSONPatch":
            return self._PATCH
        if name == "Object" or name.startswith("Object."):
            return Type(name, fields=_anything)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(("Object", "JSONPatch"))

    def __len__(self) -> int:
        return 2


STRUCTS = Structs()


def environment(speaks: Speaks, variables: Mapping[str, Type] | None, *, mutates: bool = False) -> Environment:
    """The environment of an expression. `variables` are those of the policy that it may speak of; None: it may of none."""
    known: dict[str, Type] = {"object": speaks.object, "oldObject": speaks.object, "request": REQUEST}
    known["namespaceObject"] = NAMESPACE
    known["params"] = speaks.params or DYN
    known["authorizer"] = AUTHORIZER
    known["variables"] = Type("variables", fields=dict(variables or {}).get)
    hidden = {name for name, is_there in _presence(speaks, variables) if not is_there}
    shown = {(f"@{name}" if name in hidden else name): known[name] for name in ORDER}
    return Environment(shown, STANDARD, STRUCTS if mutates else {})


def _presence(speaks: Speaks, variables: Any) -> Iterator[tuple[str, bool]]:
    yield "params", speaks.params is not None
    yield "authorizer", speaks.has_authorizer
    yield "namespaceObject", speaks.has_namespace
    yield "variables", variables is not None
