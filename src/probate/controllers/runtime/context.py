"""The dependencies of a controller that acts through the API. All controllers of a process share them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from probate.client.informers import Informers
from probate.client.objects import Client
from probate.controllers.runtime.event_recorder import EventRecorder
from probate.core.clock import Clock
from probate.core.metrics import Registry
from probate.kinds.certificates.signers import RequestedCertificate
from probate.settings import Settings


class Server(NamedTuple):
    """The server in whose process the controllers run.

    `certificate` (PEM) is the authority that the server's own certificate is checked against, if there is one. `sign` signs
    clients' certificates (PEM) if the server has an authority, and raises `CannotSign` if it refuses to. `client_authorities`
    returns the certificates (PEM) by which the server recognises clients' certificates now.
    """

    identity: str = "here"
    certificate: str = ""
    sign: Callable[[RequestedCertificate], Awaitable[bytes]] | None = None
    client_authorities: Callable[[], str] = str


class Context(NamedTuple):
    """`client` is for what must be read from the server itself; everything else is read from `informers`."""

    client: Client
    informers: Informers
    events: EventRecorder
    clock: Clock
    settings: Settings
    metrics: Registry
    server: Server
