"""What admission plugins see of a write: its user, its object, its operation and its options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from probate.api.gvk import GroupVersionKind
from probate.api.objects import Object
from probate.api.rbac.users import User
from probate.server.codec.delete_options import DeleteOptions
from probate.server.query import WriteOptions
from probate.server.request import Target
from probate.store.contract import Guard

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"


class ObjectView(NamedTuple):
    """How an object is shown to admission, and how a changed one is taken back.

    `to_admission` returns a new value. `from_admission` decodes a changed value as its kind, with defaults; it raises `Invalid` if
    that fails. The view of a subresource (Scale, for example) differs from the object.
    """

    to_admission: Callable[[Object], Object]
    from_admission: Callable[[Object, Object], Object]  # called with the object that was shown, and with the changed value


class WriteRequest:
    """What all attempts of one request share, and what admission returns to the client: warnings and audit annotations."""

    __slots__ = ("annotations", "is_mutable", "options", "user", "view", "warnings")

    def __init__(self, user: User, options: WriteOptions | DeleteOptions, view: ObjectView | None = None) -> None:
        self.user = user
        self.options = options
        self.view = view  # None: the object itself is shown
        self.is_mutable = False  # whether a plugin may change what this attempt writes: then it is validated afterwards
        self.warnings: tuple[str, ...] = ()
        self.annotations: dict[str, str] = {}  # for the audit log

    @property
    def is_dry_run(self) -> bool:
        return self.options.is_dry_run

    @property
    def write_options(self) -> WriteOptions:
        """The options of a create or an update; the defaults for a delete."""
        return self.options if isinstance(self.options, WriteOptions) else WriteOptions()

    def warn(self, *texts: str) -> None:
        """Adds warnings for the client, each at most once per request."""
        self.warnings += tuple(text for text in texts if text not in self.warnings)


class CommitRequirements(NamedTuple):
    """What the transaction of an admitted write needs: index entries, guards, and callbacks for when its outcome is known."""

    enter: tuple[str, ...] = ()
    guards: tuple[Guard, ...] = ()
    after: tuple[Callable[[], None], ...] = ()

    def release(self) -> None:
        """Runs the callbacks. Must be called once the transaction was committed, refused or given up."""
        for callback in self.after:
            callback()

    def combined_with(self, other: CommitRequirements) -> CommitRequirements:
        return CommitRequirements(self.enter + other.enter, self.guards + other.guards, self.after + other.after)


NO_REQUIREMENTS = CommitRequirements()


class Reinvocation:
    """Which policies or webhooks of a mutating plugin run again in the second round.

    `due` holds the keys of those that run again. `reinvocable` holds those that allow it (`reinvocationPolicy: IfNeeded`) and have
    run: they become due when the object changes after that. `last_object` is the object as the plugin left it.
    """

    __slots__ = ("due", "last_object", "reinvocable")

    def __init__(self) -> None:
        self.due: set[Any] = set()
        self.reinvocable: set[Any] = set()
        self.last_object: Object | None = None


class Attributes:
    """One attempt to write one object. Only mutating plugins may change it, by `replace_object`.

    `object` is None for a delete, `old` for a create. Both are of the kind `kind`, in the version of the request.
    """

    __slots__ = (
        "_convert",
        "at",
        "is_reinvocation",
        "name",
        "needs_reinvocation",
        "object",
        "old",
        "operation",
        "reinvocation_state",
        "request",
        "size",
    )

    def __init__(  # noqa: PLR0913 everything that plugins may ask about a write
        self,
        operation: str,
        at: Target,
        request: WriteRequest,
        *,
        object_: Object | None = None,
        old: Object | None = None,
        name: str | None = None,
        convert: Callable[[Object], Object] | None = None,
        size: int = 0,
    ) -> None:
        self.operation = operation
        self.at = at
        self.request = request
        self.object = object_
        self.old = old
        self.name = at.name if name is None else name
        self._convert = convert
        self.size = size  # in bytes, approximately: large objects are not processed on the event loop
        self.is_reinvocation = False  # in the second round of mutating plugins
        self.needs_reinvocation = False  # set by a plugin that has changed what earlier ones have seen
        self.reinvocation_state: dict[str, Reinvocation] = {}  # by plugin

    @property
    def kind(self) -> GroupVersionKind:
        """The kind of what was sent: of the resource, or of its subresource."""
        resource, subresource = self.at.resource, self.at.resource.subresource(self.at.subresource) if self.at.subresource else None
        if subresource is None:
            return resource.group_version_kind
        group, version = (subresource.group, subresource.version) if subresource.version else (resource.group, resource.version)
        return GroupVersionKind(group, version, subresource.kind)

    @property
    def namespace(self) -> str:
        return self.at.namespace or ""

    @property
    def options(self) -> Object:
        """The options of the operation as a meta.k8s.io/v1 object. (For admission, a patch is an update or a create.)"""
        kind = {CREATE: "CreateOptions", UPDATE: "UpdateOptions", DELETE: "DeleteOptions"}.get(self.operation, "")
        return {"kind": kind, "apiVersion": "meta.k8s.io/v1", **_option_fields(self.request.options)} if kind else {}

    def replace_object(self, object_: Object) -> None:
        """Continues with another object, which must not be used afterwards. It is decoded as its kind; `Invalid` if that fails."""
        self.object = self.decoded(object_)

    def decoded(self, object_: Object) -> Object:
        """Returns the object as `replace_object` would continue with it."""
        return object_ if self._convert is None else self._convert(object_)


def _option_fields(options: WriteOptions | DeleteOptions) -> Object:
    options_object: Object = {"dryRun": ["All"]} if options.is_dry_run else {}
    if isinstance(options, WriteOptions):
        validation = options.field_validation if options.field_validation != "Warn" else ""  # Warn is the default, so it is omitted
        named = {"fieldManager": options.field_manager, "fieldValidation": validation}
        return options_object | {name: text for name, text in named.items() if text}
    preconditions = {"uid": options.uid, "resourceVersion": options.resource_version}
    delete_options: Object = {
        "gracePeriodSeconds": options.grace_seconds,
        "preconditions": {name: text for name, text in preconditions.items() if text} or None,
        "orphanDependents": options.orphan_dependents,
        "propagationPolicy": options.policy and options.policy.value,
    }
    return options_object | {name: value for name, value in delete_options.items() if value is not None}
