"""How the life of a simulated pod goes: what its annotations say, or else what the server was told at its start."""

from __future__ import annotations

from typing import NamedTuple

from probate.client.objects import Object
from probate.control.informers import controller_of
from probate.machinery import durations
from probate.settings import Settings
from probate.simulation import images, words

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
    start, stop = durations.seconds(words.told(pod, words.START_DELAY)), durations.seconds(words.told(pod, words.STOP_DELAY))
    return Script(
        settings.pod_start_delay if start is None else start,
        settings.pod_stop_delay if stop is None else stop,
        _duration(pod),
        tuple(words.codes(words.told(pod, words.EXIT_CODE)) or [0]),
        words.told(pod, words.READY) != "false",
        images.lacking(pod),
    )


def _duration(pod: Object) -> float | None:
    text, owner = words.told(pod, words.DURATION), controller_of(pod)
    if text:
        return durations.seconds(text)
    is_of_job = owner is not None and owner["kind"] == "Job"
    has_end = is_of_job or words.told(pod, words.EXIT_CODE) or words.told(pod, words.HOOK)
    return JOB_SECONDS if has_end else None
