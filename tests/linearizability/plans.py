"""Plans of histories: from a seed, how many clients there are, and what breaks when.

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
"""One history in so many is long: only there can something be seen to be too late, on etcd. The servers start anew before it,
so that all they do goes to one member, which the fault is about."""
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
    """One server: it is killed, or paused, or both."""
    dice = random.Random(f"sqlite {seed}")  # noqa: S311
    return _plan(seed, dice, [_fault(dice, dice.choice(ON_SERVERS), 0) for _ in range(dice.randint(1, 2))])


def etcd(seed: int, *, servers: int = 2, members: int = 3) -> Plan:
    """Several servers: one to three things break, maybe at once."""
    dice = random.Random(f"etcd {seed}")  # noqa: S311
    if seed % EVERY_LONG == EVERY_LONG - 1:
        return _long(seed, dice, servers)
    faults = [_etcd_fault(dice, servers, members) for _ in range(dice.randint(1, 3))]
    return _plan(seed, dice, faults)


def has_a_way(plan: Plan) -> bool:
    """Whether every server runs and reaches a member all the time, so that events have to come in time."""
    return not any(fault.kind in ON_SERVERS or fault.peer == ALL for fault in plan.faults)


def calm(seed: int) -> Plan:
    """Nothing breaks, and many clients want the same."""
    return Plan(seed, 1.2, 1, 10, [])


def calm_and_long(seed: int) -> Plan:
    """Nothing breaks, for long."""
    return Plan(seed, LONG_SECONDS, 2, 2, [], is_long=True)


def _long(seed: int, dice: random.Random, servers: int) -> Plan:
    kind, peer = _LONG[seed // EVERY_LONG % len(_LONG)]
    fault = Fault(kind, 0.3, LONG_SECONDS - 1.5, dice.randrange(servers), peer)
    return Plan(seed, LONG_SECONDS, dice.randint(2, 4), 4, [fault], is_long=True)


def _plan(seed: int, dice: random.Random, faults: list[Fault]) -> Plan:
    return Plan(seed, SECONDS, dice.randint(2, 4), dice.randint(6, 8), faults)


def _etcd_fault(dice: random.Random, servers: int, members: int) -> Fault:
    kind = dice.choice((*ON_SERVERS, *ON_MEMBERS, "pause-used-member", *ON_CONNECTIONS))
    if kind in ON_MEMBERS:
        return _fault(dice, kind, dice.randrange(members))
    peer = dice.choice((USED, USED, ALL)) if kind in ON_CONNECTIONS else USED
    return _fault(dice, kind, dice.randrange(servers), peer)


def _fault(dice: random.Random, kind: str, target: int, peer: int = USED) -> Fault:
    return Fault(kind, round(dice.uniform(0.1, 1.2), 3), round(dice.uniform(0.1, 1.0), 3), target, peer)
