"""Owners of a custom kind whose CRD is created after their dependents."""

from __future__ import annotations

import pytest

from support.in_process_server import InProcessServer, running
from support.sample_kinds import CUSTOM, KINDS, definition

SHORT = min(CUSTOM)
OWNER = {"apiVersion": KINDS[SHORT].version, "kind": KINDS[SHORT].kind, "name": "owner", "uid": "never"}
CHILD = "/api/v1/namespaces/default/configmaps/child"


@pytest.mark.parametrize("is_own", [True, False])
async def test_a_kind_was_served_only_after_the_collector_had_checked_its_dependents(is_own: bool) -> None:
    async with running() as house:
        await house.create("configmaps", "default", {"metadata": {"name": "child", "ownerReferences": [OWNER]}})
        await house.wait_until_idle()
        assert (await house.request("GET", CHILD)).code == 200
        # Another server on the same store: this one's collector hears of the definition before this one serves it.
        defining = house if is_own else InProcessServer(house.store, house.clock)
        await defining.create("apis/apiextensions.k8s.io/v1/customresourcedefinitions", "", definition(SHORT))
        await house.wait_until_idle()
        assert (await house.request("GET", CHILD)).code == 404
