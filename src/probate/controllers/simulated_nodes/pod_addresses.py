"""The addresses of the pods of simulated nodes."""

from __future__ import annotations

import ipaddress

from probate.api.objects import Object
from probate.client.resources import is_pod_finished


class PodAddresses:
    """Which addresses are in use, and by which pod."""

    def __init__(self) -> None:
        self._pod_of_address: dict[str, str] = {}  # uids of pods, by address
        self._last_offset: dict[str, int] = {}  # offset of the last address that was allocated, by block

    def observe(self, pod: Object) -> None:
        """Records the address in the pod's status as used, or as free if the pod is finished."""
        address = (pod.get("status") or {}).get("podIP")
        if address and not pod["spec"].get("hostNetwork"):
            if is_pod_finished(pod):
                self.release(pod)
            else:
                self._pod_of_address[address] = pod["metadata"]["uid"]

    def release(self, pod: Object) -> None:
        """Releases the pod's address."""
        address = (pod.get("status") or {}).get("podIP")
        if address and self._pod_of_address.get(address) == pod["metadata"]["uid"]:
            del self._pod_of_address[address]

    def allocate(self, pod: Object, block: str) -> str:
        """Returns a free address that was not in use recently. If the block is exhausted, the pod shares an address with another
        one.
        """
        network = ipaddress.ip_network(block)
        address_count = network.num_addresses - 2
        for _ in range(address_count):
            self._last_offset[block] = self._last_offset.get(block, 0) % address_count + 1
            address = str(network.network_address + self._last_offset[block])
            if address not in self._pod_of_address:
                break
        self._pod_of_address[address] = pod["metadata"]["uid"]
        return address
