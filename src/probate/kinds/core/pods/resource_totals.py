"""What a pod asks for and may use, all in all: `requests` and `limits`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from probate.kinds.core.quota import quantity_sums
from probate.kinds.core.quota.quantity_sums import Amounts

Object = dict[str, Any]


def needs(spec: Object, which: str) -> Amounts:
    """The `requests` or `limits` of a pod: of its containers together, or of those that start it, if that is more.

    What the pod says as a whole counts instead. Its overhead comes on top: of limits, only where there are any.
    """
    running = quantity_sums.total(_of(one, which) for one in spec.get("containers") or ())
    sidecars: Amounts = {}
    starting: Amounts = {}
    for one in spec.get("initContainers") or ():
        if one.get("restartPolicy") == "Always":
            sidecars = quantity_sums.total((sidecars, _of(one, which)))
            starting = quantity_sums.most(starting, sidecars)
        else:
            starting = quantity_sums.most(starting, quantity_sums.total((sidecars, _of(one, which))))
    needed = quantity_sums.most(quantity_sums.total((running, sidecars)), starting)
    needed |= quantity_sums.read((spec.get("resources") or {}).get(which))
    overhead = quantity_sums.read(spec.get("overhead"))
    if which == "limits":
        overhead = {name: value for name, value in overhead.items() if name in needed}
    return quantity_sums.total((needed, overhead))


def containers(spec: Object) -> Iterator[Object]:
    """All containers, those that start the pod first."""
    yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()


def _of(container: Object, which: str) -> Amounts:
    return quantity_sums.read((container.get("resources") or {}).get(which))


def computed(requests: Amounts, limits: Amounts) -> Amounts:
    """What quotas call what is asked for and what may be used."""
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
