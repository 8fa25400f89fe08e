"""Each engine against the model, in random runs. A failure prints the steps, and the blob that repeats them.

To repeat one: put the printed `@reproduce_failure(...)` on the engine's machine below.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import hypothesis
from hypothesis import stateful

from support import etcd_members, store_engines, store_state_machine


def settings(examples: int) -> hypothesis.settings:
    return hypothesis.settings(
        max_examples=examples,
        stateful_step_count=40,
        deadline=None,
        print_blob=True,
        suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
    )


def test_memory_does_what_the_model_does() -> None:
    class Machine(store_state_machine.StoreMachine):
        def make_engine(self) -> store_engines.Engine:
            return store_engines.Memory()

    stateful.run_state_machine_as_test(Machine, settings=settings(300))


def test_sqlite_does_what_the_model_does(tmp_path: Path) -> None:
    class Machine(store_state_machine.StoreMachine):
        def make_engine(self) -> store_engines.Engine:
            self.directory = Path(tempfile.mkdtemp(dir=tmp_path))
            return store_engines.File(self.directory)

        def teardown(self) -> None:
            super().teardown()
            shutil.rmtree(self.directory)

    stateful.run_state_machine_as_test(Machine, settings=settings(150))


def test_etcd_does_what_the_model_does(etcd_member: etcd_members.Member) -> None:
    class Machine(store_state_machine.StoreMachine):
        def make_engine(self) -> store_engines.Engine:
            return store_engines.Etcd(etcd_member.endpoint)

    stateful.run_state_machine_as_test(Machine, settings=settings(25))
