"""Random steps in three tenants and the platform: each tenant's view is what a store of its own would be."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import stateful

from support import tenant_state_machine


@pytest.mark.parametrize("follows", [True, False])
def test_each_view_is_a_store_of_its_own(follows: bool) -> None:
    """Whether what the platform shares is followed, or has to be read whenever it is needed."""

    class Machine(tenant_state_machine.TenantMachine):
        pass

    Machine.follows = follows
    settings = hypothesis.settings(
        max_examples=15,
        stateful_step_count=30,
        deadline=None,
        print_blob=True,
        suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
    )
    stateful.run_state_machine_as_test(Machine, settings=settings)
