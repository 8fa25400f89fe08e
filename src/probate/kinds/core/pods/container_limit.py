"""Limits the number of containers of a pod, before any other processing.

A container of 20 bytes in a request becomes 300 bytes with its defaults, so a body of 3 MB could become an object of 40 MB, after a
minute of work. Kubernetes states no limit; etcd's limit for a request has the same effect at about 5,000 containers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probate.api.field_errors import FieldError, FieldPath, too_many

MAX_CONTAINERS = 1_000

_LISTS = ("containers", "initContainers", "ephemeralContainers")
_TEMPLATE = ("spec", "template", "spec")
_POD_SPECS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("", "Pod"): ("spec",),
    ("", "PodTemplate"): ("template", "spec"),
    ("", "ReplicationController"): _TEMPLATE,
    ("apps", "DaemonSet"): _TEMPLATE,
    ("apps", "Deployment"): _TEMPLATE,
    ("apps", "ReplicaSet"): _TEMPLATE,
    ("apps", "StatefulSet"): _TEMPLATE,
    ("batch", "CronJob"): ("spec", "jobTemplate", *_TEMPLATE),
    ("batch", "Job"): _TEMPLATE,
}
"""The path of the pod spec, for each kind that has one."""


def has_pods(group: str, kind: str) -> bool:
    """Reports whether objects of this kind contain a pod spec."""
    return (group, kind) in _POD_SPECS


def problems(group: str, kind: str, object_: Any) -> list[FieldError]:
    """Returns a problem for each list of containers that is too long. The object has not been decoded, so it may have any shape."""
    path = FieldPath()
    for name in _POD_SPECS[group, kind]:
        object_, path = object_.get(name) if isinstance(object_, dict) else None, path / name
    if not isinstance(object_, dict):
        return []
    lengths = [(name, len(object_[name])) for name in _LISTS if isinstance(object_.get(name), list)]
    return [too_many(path / name, length, MAX_CONTAINERS) for name, length in lengths if length > MAX_CONTAINERS]
