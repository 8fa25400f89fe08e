"""The behavior of a simulated pod: its annotations, with the server's settings as defaults."""

from __future__ import annotations

from typing import NamedTuple

from probate.api.objects import Object
from probate.client.informers import controller_of
from probate.controllers.simulated_nodes import image_pulls, simulation_annotations
from probate.lib import durations
from probate.settings import Settings

JOB_SECONDS = 1.0
"""How long the containers of a pod that is meant to end run by default."""


class PodBehavior(NamedTuple):
    """The behavior of a pod. `start` and `stop` are its delays, in seconds."""

    start: float
    stop: float
    duration: float | None
    """How long containers run until they terminate by themselves; None: forever."""
    exit_codes: tuple[int, ...]
    """Exit codes of the first run, the second run and so on; all further runs end like the last one."""
    is_ready: bool
    unpullable: frozenset[str] = frozenset()
    """Images that cannot be pulled."""

    def exit_code(self, run: int) -> int:
        """Returns the exit code of this run, counted from 0."""
        return self.exit_codes[min(run, len(self.exit_codes) - 1)]


def behavior_of(pod: Object, settings: Settings) -> PodBehavior:
    """Returns the behavior of the pod."""
    start, stop = (
        durations.seconds(simulation_annotations.annotation(pod, simulation_annotations.START_DELAY)),
        durations.seconds(simulation_annotations.annotation(pod, simulation_annotations.STOP_DELAY)),
    )
    return PodBehavior(
        settings.pod_start_delay if start is None else start,
        settings.pod_stop_delay if stop is None else stop,
        _duration(pod),
        tuple(
            simulation_annotations.parse_exit_codes(simulation_annotations.annotation(pod, simulation_annotations.EXIT_CODE)) or [0]
        ),
        simulation_annotations.annotation(pod, simulation_annotations.READY) != "false",
        image_pulls.unpullable_images(pod),
    )


def _duration(pod: Object) -> float | None:
    text, owner = simulation_annotations.annotation(pod, simulation_annotations.DURATION), controller_of(pod)
    if text:
        return durations.seconds(text)
    is_of_job = owner is not None and owner["kind"] == "Job"
    has_end = (
        is_of_job
        or simulation_annotations.annotation(pod, simulation_annotations.EXIT_CODE)
        or simulation_annotations.annotation(pod, simulation_annotations.HELM_HOOK)
    )
    return JOB_SECONDS if has_end else None
