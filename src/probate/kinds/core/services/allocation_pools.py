"""What services get from the cluster, each for itself alone: addresses, and ports on the nodes.

The beginning of a range is for those who ask for a certain one: whoever takes any gets one from the rest, as long as there is one.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from typing import NamedTuple

from probate.api.names import Chooser

_GUESSES = 32


class Pool(NamedTuple):
    """A range of things to be had. Each is known by its text; `prefix` begins the key of the index entry that says it is taken."""

    prefix: str
    name: str  # of the range, as people write it
    numbers: range
    reserved: int  # how many at the beginning are not given to those who take any
    is_of_addresses: bool = False

    def spelled(self, number: int) -> str:
        """What the number stands for."""
        return str(ipaddress.IPv4Address(number)) if self.is_of_addresses else str(number)

    def has(self, text: str) -> bool:
        """Whether the range has this."""
        if not self.is_of_addresses:
            return int(text) in self.numbers
        address = ipaddress.ip_address(text)
        return address.version == 4 and int(address) in self.numbers

    def guesses(self, random: Chooser) -> list[str]:
        """Some that may be free."""
        usual = self.numbers[self.reserved :]
        return [self.spelled(random.choice(usual)) for _ in range(_GUESSES)] if usual else []

    def one_left(self, taken: Collection[str], random: Chooser) -> str | None:
        """One that is not taken; None if all are."""
        for band in (self.numbers[self.reserved :], self.numbers[: self.reserved]):
            free = [number for number in band if self.spelled(number) not in taken]
            if free:
                return self.spelled(random.choice(free))
        return None


class Pools(NamedTuple):
    """All that there is to be had."""

    addresses: Pool
    node_ports: Pool


def addresses(range_: str) -> Pool:
    """The addresses of a range, without its first and last, which are no host's."""
    network = ipaddress.IPv4Network(range_)
    numbers = range(int(network.network_address) + 1, int(network.broadcast_address))
    return Pool("ip/", range_, numbers, min(max(16, len(numbers) // 16), 256), is_of_addresses=True)


def node_ports(first: int, last: int) -> Pool:
    """The ports of a range, both ends included."""
    numbers = range(first, last + 1)
    return Pool("nodeport/", f"{first}-{last}", numbers, min(max(16, len(numbers) // 32), 128))


USUAL = Pools(addresses("10.96.0.0/12"), node_ports(30000, 32767))
