"""Somebody with few rights, on a server with all of its rules and with its collector at work."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from support.rbac_server import Guarded, guarded


@pytest.fixture
async def house() -> AsyncIterator[Guarded]:
    async with guarded(collects=True) as one:
        yield one
