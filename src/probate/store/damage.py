"""Which stored objects are damaged, as far as somebody has read them, and what those who ask are told.

An engine notes each damaged object that it comes across, and forgets it when the object is replaced or deleted. Each is logged
once. Whoever wants to tell others (metrics, Events, health) reads `known` or listens.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, Protocol, TypeAlias

from probate.core import errors
from probate.core.errors import Details
from probate.core.logs import facts
from probate.store import keys
from probate.store.contract import Damaged, Found, Record

log = logging.getLogger(__name__)

CHECKSUM = "its checksum does not match"
NOT_JSON = "it has no checksum and is not JSON"
MISSING = "its value is missing"
LOGGED = "stored object is damaged, lists leave it out"
OPTION = "ignoreStoreReadErrorWithClusterBreakingPotential"
MAX_LOGGED = 100
"""Damaged objects that are logged one by one. `probate store check` lists them all."""

Listener: TypeAlias = Callable[[Damaged], None]


class Change(Protocol):
    """What an engine knows of a change."""

    @property
    def key(self) -> str: ...
    @property
    def revision(self) -> int: ...


class ObjectName(NamedTuple):
    """The name of a stored object, read from its key."""

    group: str
    resource: str
    namespace: str
    name: str

    def __str__(self) -> str:
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        return f'{resource} "{self.name}"' + (f' in namespace "{self.namespace}"' if self.namespace else "")


def name_of(key: str) -> ObjectName:
    """The name of the object that has this key. What is stored for our own use may have a shorter one."""
    resource, _, rest = key.removeprefix(keys.OBJECTS).partition("/")
    namespace, _, name = rest.rpartition("/")
    plural, _, group = resource.partition(".")
    return ObjectName(group, plural, "" if namespace == "-" else namespace, name)


class Damage:
    """The damaged objects of one store that were found and are still there."""

    def __init__(self) -> None:
        self._known: dict[str, Damaged] = {}
        self._listeners: list[Listener] = []
        self.found = 0

    @property
    def known(self) -> Mapping[str, Damaged]:
        """By key."""
        return self._known

    def listen(self, listener: Listener) -> None:
        """Be told of each damaged object, once: of those that are known, and of those that are found from now on."""
        self._listeners.append(listener)
        for one in self._known.values():
            listener(one)

    def note(self, damaged: Iterable[Damaged]) -> None:
        """These were found."""
        for one in damaged:
            if self._known.get(one.key) != one:
                self._known[one.key] = one
                self._tell(one)

    def forget(self, changes: Iterable[Change]) -> None:
        """These objects were replaced or deleted. Costs nothing while nothing is damaged.

        (Where somebody writes damaged data, that is a change too: what was read of it already stays known.)
        """
        if self._known:
            for change in changes:
                known = self._known.get(change.key)
                if known is not None and known.revision < change.revision:
                    del self._known[change.key]

    def readable(self, found: Found) -> Record | None:
        """What was found. `DamagedObject` if that is damaged."""
        if type(found) is Damaged:
            self.note((found,))
            raise error_of(found)
        return found  # type: ignore[return-value]

    def _tell(self, one: Damaged) -> None:
        self.found += 1
        if self.found <= MAX_LOGGED:
            about = name_of(one.key)
            log.error(
                LOGGED,
                extra=facts(
                    resource=about.resource,
                    group=about.group,
                    namespace=about.namespace,
                    name=about.name,
                    revision=one.revision,
                    problem=one.problem,
                ),
            )
        for listener in self._listeners:
            listener(one)


def error_of(one: Damaged) -> errors.DamagedObject:
    """The answer to who wants to read it."""
    about = name_of(one.key)
    return errors.DamagedObject(
        f"{about} cannot be read: the data stored at revision {one.revision} is damaged ({one.problem}). Restore a copy of the "
        f"store, or remove the object with the delete option {OPTION}",
        Details(name=about.name, group=about.group, kind=about.resource),
        key=one.key,
        revision=one.revision,
    )


def gap_of(one: Damaged) -> errors.Gone:
    """Why a watch of its range cannot go on."""
    return errors.Gone(
        f"the change at revision {one.revision} cannot be shown: the stored data of {name_of(one.key)} is damaged. List again, "
        "and watch from there"
    )
