"""Injects the faults of a plan at their times, and repairs them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from linearizability.fault_plans import ALL, USED
from linearizability.history import Fault
from linearizability.targets import EtcdTarget, Target
from support.etcd_members import Member
from support.etcd_proxy import Proxy

Repair = Callable[[], None]


async def inject(target: Target, fault: Fault) -> None:
    """Injects a fault at its time and repairs it after its duration.

    (`Target.recover` repairs what overlapping faults leave broken.)
    """
    await asyncio.sleep(fault.at)
    if fault.kind == "kill-server":
        await _kill_server(target, fault)
        return
    repair = _break(target, fault)
    await asyncio.sleep(fault.seconds)
    repair()


async def _kill_server(target: Target, fault: Fault) -> None:
    server = target.servers[fault.target]
    if server.is_running:
        server.kill()
    await asyncio.sleep(fault.seconds)
    await target.start_again(server)


def _break(target: Target, fault: Fault) -> Repair:
    action, _, scope = fault.kind.partition("-")
    if scope == "server":
        target.servers[fault.target].pause()
        return target.servers[fault.target].resume
    assert isinstance(target, EtcdTarget)
    if scope in {"member", "used-member"} and action in {"kill", "pause"}:
        number = target.used_member(fault.target) if scope == "used-member" else fault.target
        return _break_member(target.cluster.members[number], action)
    if scope == "member":
        return _hold([target.peers[fault.target]], is_requests=action == "deafen", is_lost=True)
    return _hold(_links(target, fault), is_requests=scope == "requests", is_lost=action == "lose")


def _break_member(member: Member, action: str) -> Repair:
    if action == "pause":
        member.pause()
        return member.resume
    member.kill()
    return lambda: None if member.is_running else member.spawn()


def _links(target: EtcdTarget, fault: Fault) -> list[Proxy]:
    links = target.links[fault.target]
    if fault.peer == ALL:
        return links
    return [links[target.used_member(fault.target) if fault.peer == USED else fault.peer]]


def _hold(proxies: list[Proxy], *, is_requests: bool, is_lost: bool) -> Repair:
    for proxy in proxies:
        (proxy.hold_requests if is_requests else proxy.hold_answers)()

    def repair() -> None:
        for proxy in proxies:
            (proxy.cut if is_lost else proxy.release)()

    return repair
