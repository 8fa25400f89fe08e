"""PerTenant: everything in memory that is kept by tenant registers here, so that nothing of a tenant stays once it is gone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

Evict: TypeAlias = Callable[[str], Awaitable[None]]
"""Drops what is kept of a tenant. Does nothing if that is nothing."""


class PerTenant:
    """The parts of a process that keep something by tenant."""

    def __init__(self) -> None:
        self._parts: list[Evict] = []

    def register(self, evict: Evict) -> None:
        """Adds a part. Parts are told in the order in which they are added."""
        self._parts.append(evict)

    async def evict(self, tenant: str) -> None:
        """Tells all parts that a tenant is gone."""
        for evict in self._parts:
            await evict(tenant)
