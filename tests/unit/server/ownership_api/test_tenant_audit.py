"""`/debug/tenants`: which tenant is audited, and the report as JSON. (tests/e2e/test_tenant_commands.py has it with a store.)"""

from __future__ import annotations

import pytest

from probate.api.objects import Object
from support import in_process_server

PATH = "/debug/tenants"


async def report_of(tenant: str, has_history: bool = False) -> Object:
    history = {"history": {"erased": True}} if has_history else {}
    return {"revision": 7, "tenant": tenant, "rows": 1, "entries": 1, "findings": [], **history}


@pytest.mark.parametrize("tenant", ["team-a", ""])
async def test_report_is_about_the_tenant_that_was_asked_for(tenant: str) -> None:
    async with in_process_server.running(audit_tenants=report_of) as server:
        response = await server.request("GET", PATH, query={"tenant": tenant} if tenant else None)
    assert (response.code, response.json) == (200, await report_of(tenant))


async def test_history_is_looked_at_only_if_it_is_asked_for() -> None:
    async with in_process_server.running(audit_tenants=report_of) as server:
        response = await server.request("GET", PATH, query={"tenant": "team-a", "history": "true"})
        assert response.json == await report_of("team-a", has_history=True)
        assert (await server.request("GET", PATH, query={"history": "true"})).code == 400


async def test_invalid_id_is_refused() -> None:
    async with in_process_server.running(audit_tenants=report_of) as server:
        response = await server.request("GET", PATH, query={"tenant": "../x"})
    assert response.code == 400
    assert "is not the ID of a tenant" in response.json["message"]


async def test_context_that_cannot_audit_has_no_such_path() -> None:
    async with in_process_server.running() as server:
        assert (await server.request("GET", PATH)).code == 404
