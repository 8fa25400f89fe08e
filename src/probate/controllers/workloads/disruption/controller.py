"""The disruption controller: it follows the pods of each PodDisruptionBudget and writes how many of them may be evicted."""

from __future__ import annotations

from probate.api.objects import Object
from probate.client.informers import Informer, NamespacedName, controller_of, name_of
from probate.client.objects import GroupVersionResource
from probate.controllers.runtime.context import Context
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
POD_DISRUPTION_BUDGET = OwnerKind(GroupVersionResource("policy", "v1", "poddisruptionbudgets"), "PodDisruptionBudget")
SCALABLE_KINDS = (REPLICATION_CONTROLLER, REPLICA_SET, STATEFUL_SET, DEPLOYMENT)
"""The kinds whose `spec.replicas` says how many pods should exist."""


class UnknownScale(Exception):
    """Raised if the expected number of pods cannot be determined."""


def start(context: Context) -> list[Workers]:
    """Returns the controller's workers. Informer events enqueue the keys that they reconcile."""
    return [DisruptionController(context).workers]


class DisruptionController:
    """Reconciles the status of PodDisruptionBudgets."""

    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._record_event = POD_DISRUPTION_BUDGET.event_recorder(context.events, COMPONENT)
        self._record_pod_event = OwnerKind(PODS, "Pod").event_recorder(context.events, COMPONENT)
        self._pods = context.informers.for_resource(PODS)
        self._budgets = context.informers.for_resource(POD_DISRUPTION_BUDGET.resource)
        self._owners: dict[OwnerKind, Informer] = {kind: context.informers.for_resource(kind.resource) for kind in SCALABLE_KINDS}
        self.workers = Workers("disruption-controller", self._sync, context.clock)
        self._budgets.add_event_handler(self._on_budget_change)
        self._pods.add_event_handler(self._on_pod_change)
        for informer in self._owners.values():
            informer.add_event_handler(self._on_owner_change)

    def _on_budget_change(self, old: Object | None, new: Object | None) -> None:
        budget = new or old
        if budget is not None:
            self.workers.add(name_of(budget))

    def _on_pod_change(self, old: Object | None, new: Object | None) -> None:
        versions = [pod for pod in (old, new) if pod is not None]
        for budget in self._budgets.in_namespace(namespace_of(versions[0])):
            selector = owner_selectors.label_selector(budget)
            if any(owner_selectors.matches(selector, pod) for pod in versions):
                self.workers.add(name_of(budget))

    def _on_owner_change(self, old: Object | None, new: Object | None) -> None:
        """Enqueues the budgets that depend on the owner's desired number of pods."""
        owner = new or old
        if owner is None or (old is not None and new is not None and old["spec"].get("replicas") == new["spec"].get("replicas")):
            return
        for budget in self._budgets.in_namespace(namespace_of(owner)):
            if decide.needs_scale(budget):
                self.workers.add(name_of(budget))

    async def _sync(self, name: NamespacedName) -> float | None:
        budget = self._budgets.get(name)
        if budget is None:
            return None
        selector, now = owner_selectors.label_selector(budget), self._clock.now()
        pods = [pod for pod in self._pods.in_namespace(name.namespace) if owner_selectors.matches(selector, pod)]
        if not pods:
            self._record_event(budget, "Normal", "NoPods", message="No matching pods found")
        disrupted = decide.check_disrupted_pods(budget, pods, now)
        for pod in disrupted.failed:
            message = f"Pod was expected by PDB {name} to be deleted but it wasn't"
            self._record_pod_event(pod, "Warning", "NotDeleted", message=message)
        try:
            counts = decide.pod_counts(budget, self._expected_pods(budget, pods))
        except UnknownScale as error:
            message = f"Failed to calculate the number of expected pods: {error}"
            self._record_event(budget, "Warning", "CalculateExpectedPodCountFailed", message=message)
            status = decide.failed_status(budget, str(error), now)
        else:
            status = decide.status_of(
                budget, counts, decide.count_healthy(pods, disrupted.pending), pending=disrupted.pending, now=now
            )
        if status != budget.get("status"):
            await self._budgets.update({**budget, "status": status}, "status")
        return disrupted.requeue_after

    def _expected_pods(self, budget: Object, pods: list[Object]) -> int:
        """Returns the expected number of pods: the number that exists, or the number that their controllers want. In the second
        case pods without a controller do not count.
        """
        if not decide.needs_scale(budget):
            return len(pods)
        scales: dict[str, int] = {}
        for pod in pods:
            reference = controller_of(pod)
            if reference is None:
                message = "Pods selected by this PodDisruptionBudget have no controller, so they do not count as expected pods"
                self._record_event(budget, "Warning", "UnmanagedPods", message=message)
                continue
            owner = self._scale_owner(namespace_of(pod), reference)
            scales[owner["metadata"]["uid"]] = owner["spec"].get("replicas", 1)
        return sum(scales.values())

    def _scale_owner(self, namespace: str, reference: Object) -> Object:
        """Returns the owner that sets the number of pods: for a ReplicaSet that may be its Deployment."""
        owner = self._find_owner(namespace, reference)
        if owner is None:
            description = f"{reference['kind']} {reference['name']}"
            raise UnknownScale(f"{description} does not exist, or has no spec.replicas")
        controller = controller_of(owner)
        grandparent = self._find_owner(namespace, controller) if controller is not None else None
        return owner if grandparent is None else grandparent

    def _find_owner(self, namespace: str, reference: Object) -> Object | None:
        owners = (kind.find(informer, namespace, reference) for kind, informer in self._owners.items())
        return next((owner for owner in owners if owner is not None), None)
