"""How the life of a simulated pod goes: what its annotations say, or else what the server was told at its start."""

from __future__ import annotations

from typing import NamedTuple

from probate.client.informers import controller_of
from probate.client.objects import Object
from probate.controllers.simulated_nodes import annotations as simulated_node_annotations
from probate.controllers.simulated_nodes import image_pulls
from probate.lib import durations
from probate.settings import Settings

JOB_SECONDS = 1.0
"""How long the containers of a pod work that is there to get something done, if nobody says anything."""


class Script(NamedTuple):
    """Delays are in seconds."""

    start: float
    stop: float
    duration: float | None
    """How long containers run until they end by themselves; None: for ever."""
    codes: tuple[int, ...]
    """Exit codes of the first run, the second and so on; all that follow end like the last."""
    is_ready: bool
    lacking: frozenset[str] = frozenset()
    """Images that cannot be pulled."""

    def code(self, run: int) -> int:
        """How the containers' run of this number, counted from 0, ends."""
        return self.codes[min(run, len(self.codes) - 1)]


def of(pod: Object, settings: Settings) -> Script:
    """What the pod is told."""
    start, stop = (
        durations.seconds(simulated_node_annotations.told(pod, simulated_node_annotations.START_DELAY)),
        durations.seconds(simulated_node_annotations.told(pod, simulated_node_annotations.STOP_DELAY)),
    )
    return Script(
        settings.pod_start_delay if start is None else start,
        settings.pod_stop_delay if stop is None else stop,
        _duration(pod),
        tuple(simulated_node_annotations.codes(simulated_node_annotations.told(pod, simulated_node_annotations.EXIT_CODE)) or [0]),
        simulated_node_annotations.told(pod, simulated_node_annotations.READY) != "false",
        image_pulls.lacking(pod),
    )


def _duration(pod: Object) -> float | None:
    text, owner = simulated_node_annotations.told(pod, simulated_node_annotations.DURATION), controller_of(pod)
    if text:
        return durations.seconds(text)
    is_of_job = owner is not None and owner["kind"] == "Job"
    has_end = (
        is_of_job
        or simulated_node_annotations.told(pod, simulated_node_annotations.EXIT_CODE)
        or simulated_node_annotations.told(pod, simulated_node_annotations.HOOK)
    )
    return JOB_SECONDS if has_end else None
