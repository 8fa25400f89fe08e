"""Breaks what a plan says, when it says so, and mends it again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from linearizability.history import Fault
from linearizability.plans import ALL, USED
from linearizability.targets import EtcdTarget, Target
from support.etcd_members import Member
from support.etcd_proxy import Proxy

Mend = Callable[[], None]


async def carry_out(target: Target, fault: Fault) -> None:
    """Break it at its time, and mend it when its time is over. (`Target.make_whole` mends what two faults left broken.)"""
    await asyncio.sleep(fault.at)
    if fault.kind == "kill-server":
        await _kill_server(target, fault)
        return
    mend = _break(target, fault)
    await asyncio.sleep(fault.seconds)
    mend()


async def _kill_server(target: Target, fault: Fault) -> None:
    server = target.servers[fault.target]
    if server.is_running:
        server.kill()
    await asyncio.sleep(fault.seconds)
    await target.start_again(server)


def _break(target: Target, fault: Fault) -> Mend:
    what, _, where = fault.kind.partition("-")
    if where == "server":
        target.servers[fault.target].pause()
        return target.servers[fault.target].resume
    assert isinstance(target, EtcdTarget)
    if where in {"member", "used-member"} and what in {"kill", "pause"}:
        number = target.used_member(fault.target) if where == "used-member" else fault.target
        return _broken_member(target.cluster.members[number], what)
    if where == "member":
        return _held([target.peers[fault.target]], is_requests=what == "deafen", is_lost=True)
    return _held(_links(target, fault), is_requests=where == "requests", is_lost=what == "lose")


def _broken_member(member: Member, what: str) -> Mend:
    if what == "pause":
        member.pause()
        return member.resume
    member.kill()
    return lambda: None if member.is_running else member.spawn()


def _links(target: EtcdTarget, fault: Fault) -> list[Proxy]:
    links = target.links[fault.target]
    if fault.peer == ALL:
        return links
    return [links[target.used_member(fault.target) if fault.peer == USED else fault.peer]]


def _held(proxies: list[Proxy], *, is_requests: bool, is_lost: bool) -> Mend:
    for proxy in proxies:
        (proxy.hold_requests if is_requests else proxy.hold_answers)()

    def mend() -> None:
        for proxy in proxies:
            (proxy.cut if is_lost else proxy.release)()

    return mend
