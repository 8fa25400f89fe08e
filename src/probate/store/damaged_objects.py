"""Keeps track of the damaged objects that reads have found, and builds the errors that clients get for them.

An engine adds each damaged object that it reads, and removes it when the object is replaced or deleted. Each is logged once.
Metrics, Events and health checks use `by_key` or a listener.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, Protocol, TypeAlias

from probate.api import object_keys
from probate.core import errors
from probate.core.errors import Details
from probate.core.logs import facts
from probate.store import keys
from probate.store.contract import DamagedRecord, ReadResult, Record

log = logging.getLogger(__name__)

CHECKSUM = "its checksum does not match"
NOT_JSON = "it has no checksum and is not JSON"
MISSING = "its value is missing"
LOG_MESSAGE = "stored object is damaged, lists leave it out"
DELETE_OPTION = "ignoreStoreReadErrorWithClusterBreakingPotential"
MAX_LOGGED = 100
"""Damaged objects that are logged individually. `probate store check` lists them all."""

Listener: TypeAlias = Callable[[DamagedRecord], None]


class ChangedObject(Protocol):
    """The part of a change that `remove_replaced` needs."""

    @property
    def key(self) -> str: ...
    @property
    def revision(self) -> int: ...


class ObjectName(NamedTuple):
    """The name of a stored object, parsed from its key."""

    group: str
    resource: str
    namespace: str
    name: str

    def __str__(self) -> str:
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        return f'{resource} "{self.name}"' + (f' in namespace "{self.namespace}"' if self.namespace else "")


def object_name(key: str) -> ObjectName:
    """Returns the name of the object with this key. Keys of Probate's internal objects may have fewer segments."""
    resource, _, rest = key.removeprefix(keys.OBJECTS).partition("/")
    namespace, _, name = rest.rpartition("/")
    group, plural = object_keys.parse_resource(resource)
    return ObjectName(group, plural, "" if namespace == object_keys.NO_NAMESPACE else namespace, name)


class DamagedObjects:
    """The damaged objects of one store that were found and still exist."""

    def __init__(self) -> None:
        self._by_key: dict[str, DamagedRecord] = {}
        self._listeners: list[Listener] = []
        self.total = 0

    @property
    def by_key(self) -> Mapping[str, DamagedRecord]:
        """The damaged objects by key."""
        return self._by_key

    def add_listener(self, listener: Listener) -> None:
        """Calls `listener` once for each damaged object: for those already known now, for others when they are found."""
        self._listeners.append(listener)
        for damaged in self._by_key.values():
            listener(damaged)

    def add(self, records: Iterable[DamagedRecord]) -> None:
        """Adds the damaged objects that a read found. Logs and reports those that are new."""
        for damaged in records:
            if self._by_key.get(damaged.key) != damaged:
                self._by_key[damaged.key] = damaged
                self._report(damaged)

    def remove_replaced(self, changes: Iterable[ChangedObject]) -> None:
        """Removes objects that were replaced or deleted. Costs nothing while no object is damaged.

        A change whose own version is damaged has the same revision as the entry and so does not remove it.
        """
        if self._by_key:
            for change in changes:
                known = self._by_key.get(change.key)
                if known is not None and known.revision < change.revision:
                    del self._by_key[change.key]

    def intact_record(self, result: ReadResult) -> Record | None:
        """Returns the result of a read. Raises `DamagedObject` if it is damaged."""
        if type(result) is DamagedRecord:
            self.add((result,))
            raise read_error(result)
        return result  # type: ignore[return-value]

    def _report(self, damaged: DamagedRecord) -> None:
        self.total += 1
        if self.total <= MAX_LOGGED:
            object_ = object_name(damaged.key)
            log.error(
                LOG_MESSAGE,
                extra=facts(
                    resource=object_.resource,
                    group=object_.group,
                    namespace=object_.namespace,
                    name=object_.name,
                    revision=damaged.revision,
                    problem=damaged.problem,
                ),
            )
        for listener in self._listeners:
            listener(damaged)


def read_error(damaged: DamagedRecord) -> errors.DamagedObject:
    """Returns the error for a client that reads the object."""
    object_ = object_name(damaged.key)
    return errors.DamagedObject(
        f"{object_} cannot be read: the data stored at revision {damaged.revision} is damaged ({damaged.problem}). Restore a copy "
        f"of the store, or remove the object with the delete option {DELETE_OPTION}",
        Details(name=object_.name, group=object_.group, kind=object_.resource),
        key=damaged.key,
        revision=damaged.revision,
    )


def watch_gap(damaged: DamagedRecord) -> errors.Gone:
    """Returns the error that ends a watch which cannot show a change because its data is damaged."""
    return errors.Gone(
        f"the change at revision {damaged.revision} cannot be shown: the stored data of {object_name(damaged.key)} is damaged. "
        "List again, and watch from there"
    )
