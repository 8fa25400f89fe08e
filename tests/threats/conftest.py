"""A user with few rights, on a server with all default roles and a running collector."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from support.rbac_server import RbacServer, running_with_rbac


@pytest.fixture
async def server() -> AsyncIterator[RbacServer]:
    async with running_with_rbac(collects=True) as item:
        yield item
