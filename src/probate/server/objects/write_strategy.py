"""ObjectPreparer: sets the defaults, the server's metadata and the managed fields of an object before a write, and validates it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from probate.api import metadata
from probate.api.apply import managed_fields
from probate.api.apply.managed_fields import Entry
from probate.api.catalog import Resource
from probate.api.objects import Object
from probate.api.timestamps import format_time
from probate.core import errors
from probate.core.clock import Clock
from probate.server import api_errors
from probate.server.admission.admission_attributes import WriteRequest
from probate.server.admission.admission_control import AdmissionControl
from probate.server.kind_rules.contract import KindRules, ServedKinds
from probate.server.request import Target
from probate.server.storage import tenancy

EntriesOnCreate = Callable[[Object, str], list[Entry]]
"""Returns the managed fields entries of a new object after defaulting, given the current time."""
EntriesOnUpdate = Callable[[Any], list[Entry]]
"""Returns the managed fields entries of an updated object, given the entries that the client sent."""

_SERVER_FIELDS = frozenset({"resourceVersion", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"})
"""Metadata that clients cannot set on create.

(They can set the generation of kinds that do not count it, as a restored copy does.)
"""


class ObjectPreparer:
    """Prepares objects of all kinds. `admission` has the classes of pods."""

    def __init__(self, kinds: ServedKinds, clock: Clock, *, new_uid: Callable[[], str], admission: AdmissionControl) -> None:
        self._kinds = kinds
        self._clock = clock
        self._new_uid = new_uid
        self._admission = admission

    def prepare_create(self, resource: Resource, object_: Object, *, namespace: str, create_entries: EntriesOnCreate) -> None:
        """Sets what the server sets on a new object: defaults, uid, creationTimestamp, managed fields, and what its kind adds."""
        rules, now = self._kinds.rules(resource), format_time(self._clock.now())
        entries = set_defaults(rules, object_, namespace=namespace, create_entries=create_entries, now=now)
        uid, meta = self._new_uid(), object_["metadata"]
        meta["uid"], meta["creationTimestamp"] = uid, now
        if resource.plural == "pods" and not resource.group:
            self._admission.priority.admit(resource, object_)
            self._admission.runtime_class.admit(resource, object_)
        rules.prepare_for_create(object_, uid=uid, now=now)
        if entries:
            object_["metadata"]["managedFields"] = entries

    def prepare_update(
        self, target: Target, new: Object, old: Object, *, update_entries: EntriesOnUpdate, act: WriteRequest
    ) -> None:
        """Restores what this write cannot change, validates the object, and sets its managed fields. Raises `Invalid`.

        If mutating admission may still change the object, validation runs after it, in `prepare_mutated`.
        """
        sent_entries = new["metadata"].pop("managedFields", None)
        self._restore_immutable(target, new, old)
        if not act.is_mutable:
            self._validate_update(target, new, old, act=act)
        _set_managed_fields(new, old, update_entries(sent_entries))

    def _restore_immutable(self, target: Target, new: Object, old: Object) -> None:
        """Restores the fields that this write cannot change."""
        meta, before = new["metadata"], old["metadata"]
        for fixed in ("creationTimestamp", "generation", "namespace"):
            meta.pop(fixed, None)
            if fixed in before:
                meta[fixed] = before[fixed]
        if "deletionTimestamp" in before:
            meta["deletionTimestamp"] = before["deletionTimestamp"]
        if "deletionGracePeriodSeconds" in before and meta.get("deletionGracePeriodSeconds") is None:
            meta["deletionGracePeriodSeconds"] = before["deletionGracePeriodSeconds"]
        meta["uid"] = meta.get("uid") or before["uid"]
        meta.pop("selfLink", None)
        tenancy.keep_label(new, old)
        self._kinds.rules(target.resource).prepare_for_update(
            new, old, _written_subresource(target), now=format_time(self._clock.now())
        )

    def _validate_update(self, target: Target, new: Object, old: Object, *, act: WriteRequest) -> None:
        rules, part = self._kinds.rules(target.resource), _written_subresource(target)
        problems = rules.validate_update(new, old, part)
        if problems:
            raise api_errors.invalid(target.resource, target.name, problems)
        if warnings := rules.warnings_on_update(new, old, part):
            act.warn(*warnings)

    def prepare_mutated(self, target: Target, new: Object, old: Object, *, entries: list[Entry], act: WriteRequest) -> None:
        """Prepares what mutating admission has made of an update."""
        meta = new["metadata"]
        meta.pop("managedFields", None)
        if meta.get("name") != old["metadata"]["name"] or meta.get("uid", old["metadata"]["uid"]) != old["metadata"]["uid"]:
            raise errors.BadRequest("admission changed the name or the uid of the object: a webhook or policy must not change them")
        meta["resourceVersion"] = old["metadata"]["resourceVersion"]
        self._restore_immutable(target, new, old)
        self._validate_update(target, new, old, act=act)
        _set_managed_fields(new, old, entries)


def set_defaults(rules: KindRules, object_: Object, *, namespace: str, create_entries: EntriesOnCreate, now: str) -> list[Entry]:
    """Removes fields that clients cannot set, sets defaults, and returns the managed fields entries."""
    meta = object_["metadata"]
    if not _SERVER_FIELDS.isdisjoint(meta):
        for server_side in _SERVER_FIELDS:
            meta.pop(server_side, None)
    rules.set_defaults(object_)
    entries = create_entries(object_, now)
    if namespace:
        object_["metadata"]["namespace"] = namespace
    return entries


def allows_unconditional_update(resource: Resource) -> bool:
    """Whether an update without resourceVersion is allowed (Kubernetes' AllowUnconditionalUpdate)."""
    return not resource.is_custom and metadata.allows_unconditional_update(resource.group, resource.kind)


def _written_subresource(target: Target) -> str:
    """Returns the subresource that is written; empty for `scale`, which writes the object itself."""
    return "" if target.subresource == "scale" else target.subresource


def _set_managed_fields(new: Object, old: Object, entries: list[Entry]) -> None:
    """Sets the managed fields.

    If neither object nor entries changed, apart from times and order, `new` becomes `old`, so nothing is written.
    """
    before = old["metadata"].get("managedFields") or []
    meta = new["metadata"] = {name: value for name, value in new["metadata"].items() if name != "managedFields"}
    if before:
        meta["managedFields"] = before
    if _is_same(new, old) and (entries is before or managed_fields.equal_ignoring_time(entries, before)):
        new.clear()
        new.update(old)
    elif entries:
        meta["managedFields"] = entries
    else:
        meta.pop("managedFields", None)


def _is_same(new: Object, old: Object) -> bool:
    """Whether two objects are equal. Either may lack kind and apiVersion."""
    return new.keys() >= old.keys() - {"kind", "apiVersion"} and all(name in old and old[name] == new[name] for name in new)
