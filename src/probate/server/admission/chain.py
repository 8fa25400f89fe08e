"""The one place that every write passes: first those who may change it, then those who may only refuse it.

    as it was sent ─► defaults ─► mutating plugins ─► defaults, preparation, checks of the kind ─► validating plugins ─► store

Plugins run in the order of their `Place`. One for which nothing is configured sleeps: it is in neither tuple, so a server on which
nothing is configured has two empty ones to look at.
"""

from __future__ import annotations

import logging
from enum import IntEnum
from typing import Protocol, runtime_checkable

from probate.api.audit import redaction
from probate.server.admission.attributes import NO_TERMS, Attributes, Terms
from probate.server.audit import request_trail as trails
from probate.server.request import Target

log = logging.getLogger(__name__)


class Place(IntEnum):
    """In which order plugins have their say, in both phases."""

    OWNERSHIP = 1
    LIMITS = 2
    SERVICE_ACCOUNTS = 3
    STORAGE_CLASSES = 4
    INGRESS_CLASSES = 5
    MUTATING_POLICIES = 6
    MUTATING_WEBHOOKS = 7
    VALIDATING_POLICIES = 8
    VALIDATING_WEBHOOKS = 9
    QUOTA = 10
    """Last: what is charged has been allowed by all others."""


class Plugin(Protocol):
    """Something that has a say in writes."""

    def wants(self, operation: str, at: Target) -> bool:
        """Whether it may have something to say about such a write. Must be quick; to say yes in vain costs time only."""
        ...


@runtime_checkable
class Mutator(Plugin, Protocol):
    """May change what is written."""

    async def mutate(self, write: Attributes) -> None:
        """`put` another object, or none; an `ApiError` refuses the write. Must not depend on what is not in the write twice."""
        ...


@runtime_checkable
class Validator(Plugin, Protocol):
    """May refuse a write, or let it happen under terms."""

    async def validate(self, write: Attributes) -> Terms:
        """The terms of the write; an `ApiError` refuses it."""
        ...


class Chain:
    """The plugins of one API."""

    def __init__(self) -> None:
        self._awake: dict[Place, Plugin] = {}
        self.mutators: tuple[Mutator, ...] = ()
        self.validators: tuple[Validator, ...] = ()

    def wake(self, place: Place, plugin: Plugin) -> None:
        """From now on the plugin is asked."""
        self._arrange({**self._awake, place: plugin})

    def rest(self, place: Place) -> None:
        """From now on it is not."""
        self._arrange({other: plugin for other, plugin in self._awake.items() if other != place})

    def _arrange(self, awake: dict[Place, Plugin]) -> None:
        self._awake = dict(sorted(awake.items()))
        self.mutators = tuple(one for one in self._awake.values() if isinstance(one, Mutator))
        self.validators = tuple(one for one in self._awake.values() if isinstance(one, Validator))

    def mutates(self, operation: str, at: Target) -> bool:
        """Whether somebody may change such a write."""
        return bool(self.mutators) and any(one.wants(operation, at) for one in self.mutators)

    def validates(self, operation: str, at: Target) -> bool:
        """Whether somebody may refuse such a write."""
        return bool(self.validators) and any(one.wants(operation, at) for one in self.validators)

    async def mutate(self, write: Attributes) -> None:
        """Let all have their say; and once more, if what some have seen was changed by others later."""
        plugins = [one for one in self.mutators if one.wants(write.operation, write.at)]
        for one in plugins:
            await one.mutate(write)
        if write.wants_again:
            write.is_again = True
            for one in plugins:
                await one.mutate(write)

    async def validate(self, write: Attributes) -> Terms:
        """The terms of all. Whoever gets them releases them when the write is decided."""
        terms = NO_TERMS
        try:
            for one in [one for one in self.validators if one.wants(write.operation, write.at)]:
                terms = terms.with_(await one.validate(write))
        except BaseException:
            terms.release()
            raise
        finally:
            if write.act.annotations:
                _pass_on(write)
        return terms


def _pass_on(write: Attributes) -> None:
    """What is for the audit log goes there; to the process's log, if there is none, and then without what is said of Secrets."""
    said, trail, resource = write.act.annotations, trails.TRAIL.get(), write.at.resource.group_resource
    if trail is not None:
        trail.annotate(said)
    else:
        log.info("%s of %s %s: %s", write.operation, resource, write.name, list(said) if resource == redaction.SECRETS else said)
