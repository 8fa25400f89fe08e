"""The controller of PodDisruptionBudgets: it follows the pods, and writes down how many may be given up."""

from __future__ import annotations

from probate.client.informers import Informer, Name, controller_of, name_of
from probate.client.objects import Kind, Object
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.workers import Workers
from probate.controllers.workloads import owner_selectors
from probate.controllers.workloads.disruption import decide
from probate.controllers.workloads.owner_kinds import (
    DEPLOYMENT,
    PODS,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
    OwnerKind,
    namespace_of,
)

COMPONENT = "controllermanager"
BUDGET = OwnerKind(Kind("policy", "v1", "poddisruptionbudgets"), "PodDisruptionBudget")
SCALED = (REPLICATION_CONTROLLER, REPLICA_SET, STATEFUL_SET, DEPLOYMENT)
"""Those that say how many pods they should have."""


class NoScale(Exception):
    """It cannot be said how many pods there should be."""


def start(means: Means) -> list[Workers]:
    """The controller's workers, which are told by the informers where to look."""
    return [Budgets(means).workers]


class Budgets:
    """The controller of PodDisruptionBudgets."""

    def __init__(self, means: Means) -> None:
        self._clock = means.clock
        self._tell = BUDGET.voice(means.events, COMPONENT)
        self._of_pod = OwnerKind(PODS, "Pod").voice(means.events, COMPONENT)
        self._pods = means.informers.of(PODS)
        self._budgets = means.informers.of(BUDGET.resource)
        self._owners: dict[OwnerKind, Informer] = {kind: means.informers.of(kind.resource) for kind in SCALED}
        self.workers = Workers("disruption-controller", self._sync, means.clock)
        self._budgets.listen(self._take_budget)
        self._pods.listen(self._take_pod)
        for informer in self._owners.values():
            informer.listen(self._take_owner)

    def _take_budget(self, old: Object | None, new: Object | None) -> None:
        one = new or old
        if one is not None:
            self.workers.add(name_of(one))

    def _take_pod(self, old: Object | None, new: Object | None) -> None:
        either = [one for one in (old, new) if one is not None]
        for budget in self._budgets.within(namespace_of(either[0])):
            selector = owner_selectors.of_expressions(budget)
            if any(owner_selectors.matches(selector, one) for one in either):
                self.workers.add(name_of(budget))

    def _take_owner(self, old: Object | None, new: Object | None) -> None:
        """Another number of pods is wanted."""
        one = new or old
        if one is None or (old is not None and new is not None and old["spec"].get("replicas") == new["spec"].get("replicas")):
            return
        for budget in self._budgets.within(namespace_of(one)):
            if decide.needs_scale(budget):
                self.workers.add(name_of(budget))

    async def _sync(self, name: Name) -> float | None:
        budget = self._budgets.get(name)
        if budget is None:
            return None
        selector, now = owner_selectors.of_expressions(budget), self._clock.now()
        ours = [pod for pod in self._pods.within(name.namespace) if owner_selectors.matches(selector, pod)]
        if not ours:
            self._tell(budget, "Normal", "NoPods", "No matching pods found")
        found = decide.disrupted(budget, ours, now)
        for pod in found.failed:
            told = f"Pod was expected by PDB {name} to be deleted but it wasn't"
            self._of_pod(pod, "Warning", "NotDeleted", told)
        try:
            wanted = decide.sizes(budget, self._expected(budget, ours))
        except NoScale as error:
            told = f"Failed to calculate the number of expected pods: {error}"
            self._tell(budget, "Warning", "CalculateExpectedPodCountFailed", told)
            status = decide.failed_status(budget, str(error), now)
        else:
            status = decide.status_of(budget, wanted, decide.healthy(ours, found.kept), found.kept, now)
        if status != budget.get("status"):
            await self._budgets.update({**budget, "status": status}, "status")
        return found.again

    def _expected(self, budget: Object, ours: list[Object]) -> int:
        """How many pods there should be: as many as there are, or as their controllers say. Pods of nobody do not count then."""
        if not decide.needs_scale(budget):
            return len(ours)
        scales: dict[str, int] = {}
        for pod in ours:
            reference = controller_of(pod)
            if reference is None:
                told = "Pods selected by this PodDisruptionBudget have no controller: how many there should be is not known of them"
                self._tell(budget, "Warning", "UnmanagedPods", told)
                continue
            above = self._top(namespace_of(pod), reference)
            scales[above["metadata"]["uid"]] = above["spec"].get("replicas", 1)
        return sum(scales.values())

    def _top(self, namespace: str, reference: Object) -> Object:
        """The owner that says how many pods there are: that of a ReplicaSet may be a Deployment."""
        owner = self._find(namespace, reference)
        if owner is None:
            kind = f"{reference['kind']} {reference['name']}"
            raise NoScale(f"{kind} is not there, or does not say how many pods it should have")
        above = controller_of(owner)
        higher = self._find(namespace, above) if above is not None else None
        return owner if higher is None else higher

    def _find(self, namespace: str, reference: Object) -> Object | None:
        found = (kind.find(informer, namespace, reference) for kind, informer in self._owners.items())
        return next((one for one in found if one is not None), None)
