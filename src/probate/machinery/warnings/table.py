"""Which kinds have something to be warned about: the door to all warnings about objects.

    table.create("", "Pod", pod)                  what is questionable about a new one
    table.update("", "Service", new, old)         the same of one that has changed

Objects have passed `validation`. No more is told than an answer has room for, so that no object costs more than that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import islice
from typing import NamedTuple

from probate.machinery.validation.fields import Value
from probate.machinery.warnings import cluster, pods, services, storage, workloads

MAX_TOLD = 20


def create(group: str, kind: str, object_: Value) -> list[str]:
    """What is questionable about a new object."""
    found = _find(group, kind)
    return list(islice(found.create(object_), MAX_TOLD)) if found else []


def update(group: str, kind: str, new: Value, old: Value) -> list[str]:
    """What is questionable about an object that is to replace `old`."""
    found = _find(group, kind)
    return list(islice(found.update(new, old), MAX_TOLD)) if found and found.update else []


def custom(new: Value, old: Value | None = None) -> list[str]:
    """What is questionable about an object of a custom kind."""
    return list(islice(cluster.of_custom(new, old), MAX_TOLD))


class _Doubts(NamedTuple):
    create: Callable[[Value], Iterator[str]]
    update: Callable[[Value, Value], Iterator[str]] | None = None


def _both(of: Callable[[Value], Iterator[str]]) -> _Doubts:
    """About any write, whatever was there before."""
    return _Doubts(of, lambda new, _: of(new))


@cache
def _find(group: str, kind: str) -> _Doubts | None:
    found = DOUBTS.get((group, kind))
    return None if found is None else found()


DOUBTS: Mapping[tuple[str, str], Callable[[], _Doubts]] = {
    ("", "Endpoints"): lambda: _both(services.of_endpoints),
    ("", "Node"): lambda: _both(cluster.of_node),
    ("", "PersistentVolume"): lambda: _both(storage.of_volume),
    ("", "PersistentVolumeClaim"): lambda: _both(storage.of_claim),
    ("", "Pod"): lambda: _Doubts(pods.of_pod),
    ("", "PodTemplate"): lambda: _Doubts(workloads.of_pod_template, workloads.changed(workloads.of_pod_template)),
    ("", "ReplicationController"): lambda: _Doubts(
        workloads.named(workloads.of_workload), workloads.changed(workloads.of_workload)
    ),
    ("", "Secret"): lambda: _both(cluster.of_secret),
    ("", "Service"): lambda: _both(services.of_service),
    ("", "ServiceAccount"): lambda: _Doubts(cluster.of_account, cluster.of_changed_account),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): lambda: _Doubts(
        cluster.of_definition, workloads.changed(cluster.of_definition)
    ),
    ("apps", "DaemonSet"): lambda: _Doubts(workloads.of_workload, workloads.changed(workloads.of_workload)),
    ("apps", "Deployment"): lambda: _Doubts(workloads.named(workloads.of_workload), workloads.changed(workloads.of_workload)),
    ("apps", "ReplicaSet"): lambda: _Doubts(workloads.named(workloads.of_workload), workloads.changed(workloads.of_workload)),
    ("apps", "StatefulSet"): lambda: _Doubts(workloads.of_stateful_set, workloads.changed(workloads.of_stateful_set)),
    ("batch", "CronJob"): lambda: _Doubts(workloads.named(workloads.of_cron_job), workloads.of_changed_cron_job),
    ("batch", "Job"): lambda: _Doubts(workloads.named(workloads.of_job), workloads.changed(workloads.of_job)),
    ("discovery.k8s.io", "EndpointSlice"): lambda: _both(services.of_slice),
    ("networking.k8s.io", "Ingress"): lambda: _Doubts(services.of_ingress),
    ("networking.k8s.io", "NetworkPolicy"): lambda: _both(services.of_network_policy),
    ("node.k8s.io", "RuntimeClass"): lambda: _both(cluster.of_runtime_class),
    ("storage.k8s.io", "CSIStorageCapacity"): lambda: _both(storage.of_capacity),
    ("storage.k8s.io", "StorageClass"): lambda: _both(storage.of_class),
}
