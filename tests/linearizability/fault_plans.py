"""Plans of histories, derived from a seed: how many clients there are, and which faults happen when.

The kinds of faults:

    kill-server, pause-server       SIGKILL and a new start, SIGSTOP and SIGCONT, of server `target`
    kill-member, pause-member       the same of etcd member `target`
    pause-used-member               of the member that server `target` talks to
    lose-requests, lose-answers     server `target` and member `peer` are cut off in one direction; what was sent is lost
    delay-requests, delay-answers   the same, but what was sent arrives late
    deafen-member, mute-member      member `target` and its peers are cut off in one direction

`peer` is USED for the member that the server talks to, and ALL for all of them.
"""

from __future__ import annotations

import random

from linearizability.history import Fault, Plan

USED = -1
ALL = -2
ON_SERVERS = ("kill-server", "pause-server")
ON_MEMBERS = ("kill-member", "pause-member", "deafen-member", "mute-member")
ON_CONNECTIONS = ("lose-requests", "lose-answers", "delay-requests", "delay-answers")
SECONDS = 2.0
LONG_SECONDS = 10.0
EVERY_LONG = 10
"""One history in this number is long: on etcd only a long one can show that something is too late. The servers are restarted
before it, so that all their requests go to one member, which the fault concerns."""
_LONG = (
    ("pause-used-member", USED),
    ("lose-requests", USED),
    ("lose-answers", USED),
    ("delay-answers", USED),
    ("pause-server", USED),
    ("lose-answers", ALL),
    ("delay-answers", ALL),
    ("delay-requests", ALL),
)


def sqlite(seed: int) -> Plan:
    """Returns a plan for one server, which is killed, paused, or both."""
    rng = random.Random(f"sqlite {seed}")  # noqa: S311
    return _plan(seed, rng, [_fault(rng, rng.choice(ON_SERVERS), 0) for _ in range(rng.randint(1, 2))])


def etcd(seed: int, *, servers: int = 2, members: int = 3) -> Plan:
    """Returns a plan for several servers, with one to three faults, which may overlap."""
    rng = random.Random(f"etcd {seed}")  # noqa: S311
    if seed % EVERY_LONG == EVERY_LONG - 1:
        return _long(seed, rng, servers)
    faults = [_etcd_fault(rng, servers, members) for _ in range(rng.randint(1, 3))]
    return _plan(seed, rng, faults)


def keeps_servers_connected(plan: Plan) -> bool:
    """Returns whether every server runs and reaches a member all the time, so that events must arrive in time."""
    return not any(fault.kind in ON_SERVERS or fault.peer == ALL for fault in plan.faults)


def without_faults(seed: int) -> Plan:
    """Returns a plan without faults, in which many clients compete for one object."""
    return Plan(seed, 1.2, 1, 10, [])


def without_faults_long(seed: int) -> Plan:
    """Returns a long plan without faults."""
    return Plan(seed, LONG_SECONDS, 2, 2, [], is_long=True)


def _long(seed: int, rng: random.Random, servers: int) -> Plan:
    kind, peer = _LONG[seed // EVERY_LONG % len(_LONG)]
    fault = Fault(kind, 0.3, LONG_SECONDS - 1.5, rng.randrange(servers), peer)
    return Plan(seed, LONG_SECONDS, rng.randint(2, 4), 4, [fault], is_long=True)


def _plan(seed: int, rng: random.Random, faults: list[Fault]) -> Plan:
    return Plan(seed, SECONDS, rng.randint(2, 4), rng.randint(6, 8), faults)


def _etcd_fault(rng: random.Random, servers: int, members: int) -> Fault:
    kind = rng.choice((*ON_SERVERS, *ON_MEMBERS, "pause-used-member", *ON_CONNECTIONS))
    if kind in ON_MEMBERS:
        return _fault(rng, kind, rng.randrange(members))
    peer = rng.choice((USED, USED, ALL)) if kind in ON_CONNECTIONS else USED
    return _fault(rng, kind, rng.randrange(servers), peer=peer)


def _fault(rng: random.Random, kind: str, target: int, *, peer: int = USED) -> Fault:
    return Fault(kind, round(rng.uniform(0.1, 1.2), 3), round(rng.uniform(0.1, 1.0), 3), target, peer)
