"""What the verbs share: the store, the kinds there are, the time, and where new names come from. And what they answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from probate.api.catalog import Catalog
from probate.api.names import Chooser
from probate.api.rbac.cel_authorizer import Decider
from probate.api.rbac.users import User
from probate.api.timestamps import timestamp
from probate.core import errors, work_limits
from probate.core.aio import time_slices
from probate.core.aio.deadlines import Deadline
from probate.core.aio.offload import Inline, Offload, Pool
from probate.core.clock import Clock
from probate.core.metrics import Registry
from probate.http.limit_log import LimitLog
from probate.http.memory_limits import MAX_SELECTORS, Room
from probate.kinds.core.pods.priority import Priorities
from probate.kinds.core.pods.runtime_class import RuntimeClasses
from probate.kinds.core.services.allocation_pools import USUAL, Pools
from probate.server.admission.chain import Chain
from probate.server.admission.configuration import Configured
from probate.server.admission.webhooks.match_conditions import Conditions
from probate.server.audit import audit_log as auditing
from probate.server.authn.service_accounts import Accounts
from probate.server.authz.authorizer import Access
from probate.server.authz.owner_checks import Owners
from probate.server.flow_classification import Flows
from probate.server.kind_registry import Kinds
from probate.server.metrics import Figures
from probate.server.objects.list_cache import Large, Listings
from probate.server.request import Targets
from probate.server.webhooks.conversion_review import Converter
from probate.server.webhooks.endpoints import Services
from probate.server.webhooks.https_client import Outbound
from probate.store.contract import Guard, Revision, Store

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds that a request may take, unless its client asks for less."""
LARGE_BYTES = 16 * 1024
"""What is to be read, checked or written out is done on a thread if it is larger, so that nobody waits for it on the loop."""
SMALL_EFFORT = 20_000
"""Steps of checking that are done on the loop; what takes more begins anew on a thread. (A step is about a microsecond.)"""
MOST_EFFORT = 3_000_000
DEAR = 20.0
"""Steps that a unit of cost of expressions counts for on the loop: they leave it after 1,000 units, under half a millisecond."""


class Answer(NamedTuple):
    """A whole answer."""

    code: int
    body: bytes
    content_type: str = "application/json"
    warnings: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    said: bytes = b""  # what the body says, in JSON, if it is written otherwise: for who looks at it after


class Outlet(Protocol):
    """The client's end of a stream, for who has something to tell at once."""

    def is_ready(self) -> bool:
        """Whether something can be told now: the stream has begun and goes on, and the client keeps up with it."""
        ...

    def tell(self, chunk: bytes) -> None:
        """Send this, after all that was sent before."""
        ...


class Stream(NamedTuple):
    """An answer that goes on: each chunk is sent as it comes.

    `attach` is given an outlet, if there is one. While the next chunk is waited for, whoever makes them may use it instead.
    """

    chunks: AsyncGenerator[bytes, None]
    content_type: str = "application/json"
    code: int = 200
    attach: Callable[[Outlet], None] = lambda _: None
    warnings: tuple[str, ...] = ()
    id: str = ""  # under which it is in the audit log, if it is


class Recognised(NamedTuple):
    """Whom a token is of, and for which audiences, if it is for some only."""

    user: User
    audiences: tuple[str, ...] = ()


Tokens: TypeAlias = Callable[[str, tuple[str, ...]], Awaitable[Recognised]]
"""Whom a token is of, if it is for one of these audiences (if there are none: for the server itself). `Unauthorized` if nobody."""


async def _unknown_token(_token: str, _audiences: tuple[str, ...]) -> Recognised:
    raise errors.Unauthorized


class Api:
    """One API on one store."""

    def __init__(  # noqa: PLR0913 whatever verbs may use is given here
        self,
        store: Store,
        kinds: Kinds,
        clock: Clock,
        *,
        new_uid: Callable[[], str],
        random: Chooser,
        pools: Pools = USUAL,
        offload: Offload | None = None,
        metrics: Registry | None = None,
        services: Services | None = None,
        accounts: Accounts | None = None,
    ) -> None:
        self.store = store
        self.access = Access(store)
        self.figures = Figures(metrics or Registry())
        self._offload = offload or Inline()
        about = "What the server's own controllers had no right to do, and did not do."
        self.denied = self.figures.registry.counter("probate_denied_actions", about, ("account", "verb", "resource"))
        self.kinds = kinds
        self.clock = clock
        self.limits = LimitLog(clock, self.figures.registry)
        self.patience = Deadline(PATIENCE)
        self.listings, self.large_lists = Listings(), Large()
        self.selectors = Room("selectors of watches", MAX_SELECTORS)
        self.targets = Targets()
        self.accounts = accounts or Accounts(store, clock)
        self.tokens: Tokens = _unknown_token
        self.open_namespaces: dict[str, tuple[Guard, Revision]] = {}  # and when that was so
        self.new_uid = new_uid
        self.random = random  # for names that were asked for by generateName, and for what services get
        self.pools = pools
        self.admission = Chain()
        self.conditions: Conditions | None = None
        self.audit: auditing.Audit | None = None  # None: nothing is written down
        self.owners = Owners.BLOCKING
        self.owner_checks = "warn"  # `kinship.checking` says how
        self.deciders: Callable[[User], Decider] = self.access.decider  # what a user may do, for expressions that ask
        self.services = services or {}  # that webhooks are behind
        self.outbound = Outbound(self._offload)
        self.priorities, self.runtime_classes = Priorities(), RuntimeClasses()  # of pods
        self.growing: frozenset[str] = frozenset()  # the classes of storage whose volumes can grow
        self.flows = Flows()  # of requests
        self.configured = Configured(store, lambda: self.kinds.catalog)
        self.converter = Converter(self.outbound, lambda: self.services, new_uid, self.apart)
        self._closing: list[Callable[[], Awaitable[None]]] = [self.outbound.close]
        self.readiness: dict[str, Callable[[], str | None]] = {}  # what else has to work, by name: says what is wrong, if anything

    @property
    def catalog(self) -> Catalog:
        """What is served now."""
        return self.kinds.catalog

    def now(self) -> str:
        """The time as objects tell it."""
        return timestamp(self.clock.now())

    def at_the_end(self, close: Callable[[], Awaitable[None]]) -> None:
        """Something that is to be stopped with the API."""
        self._closing.insert(0, close)

    async def close(self) -> None:
        """Stop all that goes on for the API besides requests."""
        for close in self._closing:
            await close()

    async def apart(self, size: int, work: Callable[[], T]) -> T:
        """What the work gives: done here if it is small, else on a thread. It may be begun twice, so it must not leave traces."""
        if size <= LARGE_BYTES:
            try:
                return work_limits.within(SMALL_EFFORT, DEAR, work)
            except work_limits.TooMuch:
                pass
        pause = self._pause(time_slices.of_loop())
        return await self.elsewhere(lambda: _within(MOST_EFFORT, work, pause))

    def _pause(self, asked: time_slices.Turns) -> Callable[[], None] | None:
        """What long work calls now and then: while others ask, its thread leaves the interpreter to them for most of the time."""
        offload = self._offload
        return (lambda: offload.pause() if asked.is_asked else None) if isinstance(offload, Pool) else None

    async def elsewhere(self, work: Callable[[], T]) -> T:
        """What the work gives, done on a thread."""
        return await self._offload.run(work)


def _within(steps: int, work: Callable[[], T], pause: Callable[[], None] | None) -> T:
    try:
        with work_limits.limited(steps, pause=pause):
            return work()
    except errors.ApiError as error:
        raise error.with_traceback(None) from None  # which holds all that was at work: to free that takes long as well
