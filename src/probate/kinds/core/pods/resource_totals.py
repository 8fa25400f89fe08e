"""Computes the total requests and limits of a pod."""

from __future__ import annotations

from collections.abc import Iterator

from probate.api.objects import Object
from probate.kinds.shared import quantity_sums
from probate.kinds.shared.quantity_sums import Amounts


def pod_resources(spec: Object, which: str) -> Amounts:
    """Returns the `requests` or `limits` of a pod: those of its containers together, or of its init containers if those are larger.

    Pod-level resources take precedence. The overhead is added, to limits only where the pod has any.
    """
    running = quantity_sums.add_up(_of(one, which) for one in spec.get("containers") or ())
    sidecars: Amounts = {}
    starting: Amounts = {}
    for one in spec.get("initContainers") or ():
        if one.get("restartPolicy") == "Always":
            sidecars = quantity_sums.add_up((sidecars, _of(one, which)))
            starting = quantity_sums.larger_amounts(starting, sidecars)
        else:
            starting = quantity_sums.larger_amounts(starting, quantity_sums.add_up((sidecars, _of(one, which))))
    needed = quantity_sums.larger_amounts(quantity_sums.add_up((running, sidecars)), starting)
    needed |= quantity_sums.read((spec.get("resources") or {}).get(which))
    overhead = quantity_sums.read(spec.get("overhead"))
    if which == "limits":
        overhead = {name: value for name, value in overhead.items() if name in needed}
    return quantity_sums.add_up((needed, overhead))


def containers(spec: Object) -> Iterator[Object]:
    """Yields all containers, init containers first."""
    yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()


def _of(container: Object, which: str) -> Amounts:
    return quantity_sums.read((container.get("resources") or {}).get(which))


def quota_amounts(requests: Amounts, limits: Amounts) -> Amounts:
    """Returns requests and limits under the names that quotas use for them."""
    found: Amounts = {}
    for name, value in requests.items():
        if name in {"cpu", "memory", "ephemeral-storage"} or name.startswith("hugepages-"):
            found |= {name: value, f"requests.{name}": value}
        elif "/" in name and not name.partition("/")[0].endswith("kubernetes.io"):
            found[f"requests.{name}"] = value
    for name in ("cpu", "memory", "ephemeral-storage"):
        if name in limits:
            found[f"limits.{name}"] = limits[name]
    return found
