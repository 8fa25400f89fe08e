"""What a controller that acts through the API works with. All controllers of a process share it."""

from __future__ import annotations

from typing import NamedTuple

from probate.client.objects import Client
from probate.clock import Clock
from probate.control.events import Events
from probate.control.informers import Informers
from probate.metrics import Registry
from probate.settings import Settings


class Means(NamedTuple):
    """A client for what must be asked of the server itself, informers for everything else, events for people, and the time.

    Beside that, what the process was told at its start, where to count what is worth counting, and what the server is called.
    """

    client: Client
    informers: Informers
    events: Events
    clock: Clock
    settings: Settings
    metrics: Registry
    identity: str
