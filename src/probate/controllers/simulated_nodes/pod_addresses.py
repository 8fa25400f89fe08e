"""Which addresses the pods of simulated nodes have."""

from __future__ import annotations

import ipaddress

from probate.client.objects import Object
from probate.client.resources import is_finished


class Addresses:
    """Which addresses pods have."""

    def __init__(self) -> None:
        self._taken: dict[str, str] = {}  # uids of pods, by address
        self._last: dict[str, int] = {}  # which address of a block was given last

    def take(self, pod: Object) -> None:
        address = (pod.get("status") or {}).get("podIP")
        if address and not pod["spec"].get("hostNetwork"):
            if is_finished(pod):
                self.forget(pod)
            else:
                self._taken[address] = pod["metadata"]["uid"]

    def forget(self, pod: Object) -> None:
        address = (pod.get("status") or {}).get("podIP")
        if address and self._taken.get(address) == pod["metadata"]["uid"]:
            del self._taken[address]

    def give(self, pod: Object, block: str) -> str:
        """An address that no pod has, and that none had a moment ago. If there is none, one more pod has the last."""
        network = ipaddress.ip_network(block)
        room = network.num_addresses - 2
        for _ in range(room):
            self._last[block] = self._last.get(block, 0) % room + 1
            address = str(network.network_address + self._last[block])
            if address not in self._taken:
                break
        self._taken[address] = pod["metadata"]["uid"]
        return address
