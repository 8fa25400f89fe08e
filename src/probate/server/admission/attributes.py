"""A write as admission sees it: who does what to which object, and how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from probate.api.gvk import GroupVersionKind
from probate.api.rbac.users import User
from probate.server.codec.delete_options import DeleteOptions
from probate.server.query import WriteOptions
from probate.server.request import Target
from probate.store.contract import Guard

Object = dict[str, Any]

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"


class View(NamedTuple):
    """How an object is shown to admission, and what becomes of it if what is shown is changed.

    `show` makes a value of its own. `take` reads a changed one as its kind, with its defaults; `Invalid` if it does not fit.
    """

    show: Callable[[Object], Object]
    take: Callable[[Object, Object], Object]  # of the object that was shown, and of what has become of what it showed


class Act:
    """What is the same for all tries of one request, and what admission has to say about them."""

    __slots__ = ("annotations", "is_mutable", "options", "user", "view", "warnings")

    def __init__(self, user: User, options: WriteOptions | DeleteOptions, view: View | None = None) -> None:
        self.user = user
        self.options = options
        self.view = view  # None: the object itself
        self.is_mutable = False  # whether somebody may change what this try writes: then it is checked after that
        self.warnings: tuple[str, ...] = ()
        self.annotations: dict[str, str] = {}  # for the audit log

    @property
    def is_dry_run(self) -> bool:
        return self.options.is_dry_run

    @property
    def write_options(self) -> WriteOptions:
        """The options, if it is a create or an update."""
        return self.options if isinstance(self.options, WriteOptions) else WriteOptions()

    def warn(self, *texts: str) -> None:
        """Tell the client, once for all tries."""
        self.warnings += tuple(text for text in texts if text not in self.warnings)


class Terms(NamedTuple):
    """What a write that was admitted has to be under: entries and guards for its transaction, and what to do once it is decided."""

    enter: tuple[str, ...] = ()
    guards: tuple[Guard, ...] = ()
    after: tuple[Callable[[], None], ...] = ()

    def release(self) -> None:
        """To be called once the transaction was committed or refused, or was given up."""
        for done in self.after:
            done()

    def with_(self, other: Terms) -> Terms:
        return Terms(self.enter + other.enter, self.guards + other.guards, self.after + other.after)


NO_TERMS = Terms()


class Attributes:
    """One try to write one object. A mutating plugin may `put` another object in its place; all else is to be read only.

    `object` is None for a delete, `old` for a create. Both are of the kind `kind`, in the version that was asked for.
    """

    __slots__ = ("_retype", "act", "at", "is_again", "memory", "name", "object", "old", "operation", "size", "wants_again")

    def __init__(  # noqa: PLR0913 all that there is to say about a write
        self,
        operation: str,
        at: Target,
        act: Act,
        *,
        object_: Object | None = None,
        old: Object | None = None,
        name: str | None = None,
        retype: Callable[[Object], Object] | None = None,
        size: int = 0,
    ) -> None:
        self.operation = operation
        self.at = at
        self.act = act
        self.object = object_
        self.old = old
        self.name = at.name if name is None else name
        self._retype = retype
        self.size = size  # in bytes, about: what is large is not looked at on the event loop
        self.is_again = False  # the second round of mutating plugins
        self.wants_again = False  # set by a plugin that has changed what earlier ones have seen
        self.memory: dict[str, Any] = {}  # what a plugin notes in the first round for the second

    @property
    def kind(self) -> GroupVersionKind:
        """Of what was sent: that of the resource, or of its part."""
        resource, part = self.at.resource, self.at.resource.subresource(self.at.subresource) if self.at.subresource else None
        if part is None:
            return resource.group_version_kind
        group, version = (part.group, part.version) if part.version else (resource.group, resource.version)
        return GroupVersionKind(group, version, part.kind)

    @property
    def namespace(self) -> str:
        return self.at.namespace or ""

    @property
    def options(self) -> Object:
        """The options of the operation, as meta.k8s.io/v1 has them. (A patch is an update, or a create, to admission.)"""
        kind = {CREATE: "CreateOptions", UPDATE: "UpdateOptions", DELETE: "DeleteOptions"}.get(self.operation, "")
        return {"kind": kind, "apiVersion": "meta.k8s.io/v1", **_said(self.act.options)} if kind else {}

    def put(self, object_: Object) -> None:
        """Go on with this object, which is given away: it is read as its kind, with defaults. `Invalid` if it does not fit."""
        self.object = object_ if self._retype is None else self._retype(object_)


def _said(options: WriteOptions | DeleteOptions) -> Object:
    said: Object = {"dryRun": ["All"]} if options.is_dry_run else {}
    if isinstance(options, WriteOptions):
        validation = options.field_validation if options.field_validation != "Warn" else ""  # which is what nobody has to say
        named = {"fieldManager": options.field_manager, "fieldValidation": validation}
        return said | {name: text for name, text in named.items() if text}
    preconditions = {"uid": options.uid, "resourceVersion": options.resource_version}
    found: Object = {
        "gracePeriodSeconds": options.grace_seconds,
        "preconditions": {name: text for name, text in preconditions.items() if text} or None,
        "orphanDependents": options.orphan_dependents,
        "propagationPolicy": options.policy and options.policy.value,
    }
    return said | {name: value for name, value in found.items() if value is not None}
