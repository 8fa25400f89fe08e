"""What the verbs share: the store, the kinds there are, the time, and where new names come from. And what they answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime
from typing import NamedTuple

from probate.aio.deadlines import Deadline
from probate.clock import Clock
from probate.machinery.catalog import Catalog
from probate.machinery.names import Chooser
from probate.machinery.pools import USUAL, Pools
from probate.server.custom_kinds import Kinds
from probate.server.listings import Listings
from probate.store.contract import Store

PATIENCE = 60.0
"""Seconds that a request may take, unless its client asks for less."""


class Answer(NamedTuple):
    """A whole answer."""

    code: int
    body: bytes
    content_type: str = "application/json"
    warnings: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()


class Stream(NamedTuple):
    """An answer that goes on: each chunk is sent as it comes."""

    chunks: AsyncGenerator[bytes, None]
    content_type: str = "application/json"


class Api:
    """One API on one store."""

    def __init__(
        self,
        store: Store,
        kinds: Kinds,
        clock: Clock,
        *,
        new_uid: Callable[[], str],
        random: Chooser,
        pools: Pools = USUAL,
    ) -> None:
        self.store = store
        self.kinds = kinds
        self.clock = clock
        self.patience = Deadline(PATIENCE)
        self.listings = Listings()
        self.new_uid = new_uid
        self._second, self._now = -1, ""
        self.random = random  # for names that were asked for by generateName, and for what services get
        self.pools = pools

    @property
    def catalog(self) -> Catalog:
        """What is served now."""
        return self.kinds.catalog

    def now(self) -> str:
        """The time as objects tell it."""
        second = int(self.clock.now())
        if second != self._second:
            self._second = second
            self._now = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return self._now
