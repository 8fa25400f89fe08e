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

from probate.kinds.apps import warnings as app_warnings
from probate.kinds.core.pods import warnings as pod_warnings
from probate.kinds.core.services import warnings as service_warnings
from probate.kinds.core.volumes import warnings as volume_warnings
from probate.kinds.shared import object_warnings
from probate.kinds.shared.field_checks import Value

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
    return list(islice(object_warnings.of_custom(new, old), MAX_TOLD))


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
    ("", "Endpoints"): lambda: _both(service_warnings.of_endpoints),
    ("", "Node"): lambda: _both(object_warnings.of_node),
    ("", "PersistentVolume"): lambda: _both(volume_warnings.of_volume),
    ("", "PersistentVolumeClaim"): lambda: _both(volume_warnings.of_claim),
    ("", "Pod"): lambda: _Doubts(pod_warnings.of_pod),
    ("", "PodTemplate"): lambda: _Doubts(app_warnings.of_pod_template, app_warnings.changed(app_warnings.of_pod_template)),
    ("", "ReplicationController"): lambda: _Doubts(
        app_warnings.named(app_warnings.of_workload), app_warnings.changed(app_warnings.of_workload)
    ),
    ("", "Secret"): lambda: _both(object_warnings.of_secret),
    ("", "Service"): lambda: _both(service_warnings.of_service),
    ("", "ServiceAccount"): lambda: _Doubts(object_warnings.of_account, object_warnings.of_changed_account),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): lambda: _Doubts(
        object_warnings.of_definition, app_warnings.changed(object_warnings.of_definition)
    ),
    ("apps", "DaemonSet"): lambda: _Doubts(app_warnings.of_workload, app_warnings.changed(app_warnings.of_workload)),
    ("apps", "Deployment"): lambda: _Doubts(
        app_warnings.named(app_warnings.of_workload), app_warnings.changed(app_warnings.of_workload)
    ),
    ("apps", "ReplicaSet"): lambda: _Doubts(
        app_warnings.named(app_warnings.of_workload), app_warnings.changed(app_warnings.of_workload)
    ),
    ("apps", "StatefulSet"): lambda: _Doubts(app_warnings.of_stateful_set, app_warnings.changed(app_warnings.of_stateful_set)),
    ("batch", "CronJob"): lambda: _Doubts(app_warnings.named(app_warnings.of_cron_job), app_warnings.of_changed_cron_job),
    ("batch", "Job"): lambda: _Doubts(app_warnings.named(app_warnings.of_job), app_warnings.changed(app_warnings.of_job)),
    ("discovery.k8s.io", "EndpointSlice"): lambda: _both(service_warnings.of_slice),
    ("networking.k8s.io", "Ingress"): lambda: _Doubts(service_warnings.of_ingress),
    ("networking.k8s.io", "NetworkPolicy"): lambda: _both(service_warnings.of_network_policy),
    ("node.k8s.io", "RuntimeClass"): lambda: _both(object_warnings.of_runtime_class),
    ("storage.k8s.io", "CSIStorageCapacity"): lambda: _both(volume_warnings.of_capacity),
    ("storage.k8s.io", "StorageClass"): lambda: _both(volume_warnings.of_class),
}
