"""`/metrics` has the number of Tenants in each phase."""

from __future__ import annotations

from probate.core.clock import FakeClock
from probate.server.diagnostics.server_metrics import RECOUNT_SECONDS
from support.in_process_server import InProcessServer, running

TENANTS = "/apis/tenant.kubezoo.io/v1alpha1/tenants"


async def phases(server: InProcessServer) -> set[str]:
    text = (await server.request("GET", "/metrics")).body.decode()
    return {line for line in text.splitlines() if line.startswith("probate_tenants{")}


async def test_tenants_are_counted_by_phase() -> None:
    clock = FakeClock()
    async with running(clock=clock, collects=False) as server:
        assert await phases(server) == set()
        for name in ("team-a", "team-b", "team-c"):
            await server.request("POST", TENANTS, {"metadata": {"name": name}})
        await server.request("DELETE", f"{TENANTS}/team-b")
        assert await phases(server) == set()  # counted a moment ago
        await clock.advance(RECOUNT_SECONDS)
        assert await phases(server) == {'probate_tenants{phase="Pending"} 2.0', 'probate_tenants{phase="Terminating"} 1.0'}
