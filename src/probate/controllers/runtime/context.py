"""What a controller that acts through the API works with. All controllers of a process share it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from probate.client.informers import Informers
from probate.client.objects import Client
from probate.controllers.runtime.event_recorder import Events
from probate.core.clock import Clock
from probate.core.metrics import Registry
from probate.kinds.certificates.signers import Wanted
from probate.settings import Settings


class Server(NamedTuple):
    """What the server is called, and the certificate (PEM) that its own is checked against, if there is one.

    And what signs clients' certificates (PEM), if it has an authority: `Unfit` if it does not want to. `client_authorities` gives
    the certificates (PEM) by which it recognises clients' ones now.
    """

    identity: str = "here"
    certificate: str = ""
    sign: Callable[[Wanted], Awaitable[bytes]] | None = None
    client_authorities: Callable[[], str] = str


class Means(NamedTuple):
    """A client for what must be asked of the server itself, informers for everything else, events for people, and the time.

    Beside that, what the process was told at its start, where to count what is worth counting, and who the server is.
    """

    client: Client
    informers: Informers
    events: Events
    clock: Clock
    settings: Settings
    metrics: Registry
    server: Server
