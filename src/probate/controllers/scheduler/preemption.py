"""Who has to leave a node so that a more important pod can come: decided from the ledger alone.

On each node all pods of a lower priority are thought away. If the pod could come then, as many of them stay as possible: first
those whose budgets allow no more disruptions, the most important before the others. The node is taken where that costs least: few
budgets broken, then victims of little importance, then few of them, then those that began last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from probate.api.field_errors import Path
from probate.api.selectors import label_selectors
from probate.api.timestamps import seconds
from probate.client.objects import Object
from probate.controllers.scheduler import decide, pod_affinity
from probate.controllers.scheduler.decide import Asker
from probate.controllers.scheduler.node_ledger import Guest, Host, Ledger, priority_of

REASON = "PreemptionByScheduler"
LOWEST = 2**31

AskerOn = Callable[[Ledger], Asker]
"""The pod that asks, as things would be."""


class Plan(NamedTuple):
    """Where a pod can go, who has to leave for it (the most important first), and how many budgets that would break."""

    node: str
    victims: tuple[Object, ...]
    broken: int


def plan(ledger: Ledger, asker_on: AskerOn, budgets: Iterable[Object]) -> Plan | None:
    """The best there is; None if nobody's leaving would help."""
    asker, known = asker_on(ledger), list(budgets)
    found = [one for host in ledger.hosts() if (one := _on(host, ledger, asker, asker_on, known)) is not None]
    return min(found, key=_cost, default=None)


def is_awaited(pod: Object, ledger: Ledger, node: str) -> bool:
    """Whether somebody is leaving the node already for the pod's sake, or for that of another such."""
    host = ledger.find(node)
    if host is None:
        return False
    return any(priority_of(one.pod) < priority_of(pod) and _is_leaving(one.pod) for one in host.guests.values())


def _is_leaving(pod: Object) -> bool:
    told = (pod.get("status") or {}).get("conditions") or ()
    return "deletionTimestamp" in pod["metadata"] and any(
        one["type"] == "DisruptionTarget" and one["status"] == "True" and one.get("reason") == REASON for one in told
    )


def _on(host: Host, ledger: Ledger, asker: Asker, asker_on: AskerOn, budgets: list[Object]) -> Plan | None:
    """What it takes to get the pod onto the node."""
    lower = [one for one in host.guests.values() if priority_of(one.pod) < priority_of(asker.pod)]
    if not lower:
        return None
    trial = host.copy()
    says_something = pod_affinity.says_something(asker.pod) or bool(host.choosy)
    for one in lower:
        trial.remove(one.pod["metadata"]["uid"])

    def fits() -> bool:
        return not decide.objections(asker_on(ledger.replacing(trial)) if says_something else asker, trial)

    if not fits():
        return None
    breaking, others = _split(sorted(lower, key=_unimportance), budgets)
    broken = [one for one in breaking if not _stays(one, trial, fits)]
    victims = [*broken, *(one for one in others if not _stays(one, trial, fits))]
    return Plan(host.name, tuple(one.pod for one in sorted(victims, key=_unimportance)), len(broken)) if victims else None


def _stays(guest: Guest, trial: Host, fits: Callable[[], bool]) -> bool:
    trial.put(guest)
    if fits():
        return True
    trial.remove(guest.pod["metadata"]["uid"])
    return False


def _split(guests: list[Guest], budgets: list[Object]) -> tuple[list[Guest], list[Guest]]:
    """Those whose leaving would break a budget, and the others."""
    left = [(budget.get("status") or {}).get("disruptionsAllowed") or 0 for budget in budgets]
    breaking, others = list[Guest](), list[Guest]()
    for guest in guests:
        is_broken = False
        for number, budget in enumerate(budgets):
            if _covers(budget, guest.pod):
                left[number] -= 1
                is_broken = is_broken or left[number] < 0
        (breaking if is_broken else others).append(guest)
    return breaking, others


def _covers(budget: Object, pod: Object) -> bool:
    """Whether the pod's leaving counts, and has not been counted."""
    meta, labels = pod["metadata"], pod["metadata"].get("labels")
    if not labels or budget["metadata"]["namespace"] != meta["namespace"]:
        return False
    selector = label_selectors.compile_object(budget["spec"].get("selector"), Path("selector"))[0]
    counted = (budget.get("status") or {}).get("disruptedPods") or {}
    return not selector.is_everything and selector.matches(labels) and meta["name"] not in counted


def _unimportance(guest: Guest) -> tuple[int, float]:
    return -priority_of(guest.pod), _began(guest.pod)


def _began(pod: Object) -> float:
    """When the pod began; those that have not, last."""
    began = (pod.get("status") or {}).get("startTime")
    return seconds(began) if began else float("inf")


def _cost(plan: Plan) -> tuple[int, int, int, int, float, str]:
    priorities = [priority_of(one) for one in plan.victims]
    highest = priorities[0]
    began = min(_began(one) for one in plan.victims if priority_of(one) == highest)
    return plan.broken, highest, sum(one + LOWEST for one in priorities), len(priorities), -began, plan.node
