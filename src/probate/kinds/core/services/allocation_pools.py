"""Allocation pools of values that the cluster assigns uniquely to Services: cluster IPs and node ports.

The beginning of a range is reserved for clients that request a particular value: an arbitrary value comes from the rest of the
range as long as one is free.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from typing import NamedTuple

from probate.api.names import Chooser

_GUESSES = 32


class Pool(NamedTuple):
    """A range of values to allocate, each with a text form.

    `prefix` starts the key of the index entry that marks a value as allocated.
    """

    prefix: str
    name: str  # of the range, as users write it
    numbers: range
    reserved: int  # how many values at the beginning are not allocated unless a client requests one
    is_of_addresses: bool = False

    def spelled(self, number: int) -> str:
        """Returns the text form of the value with this number."""
        return str(ipaddress.IPv4Address(number)) if self.is_of_addresses else str(number)

    def has(self, text: str) -> bool:
        """Reports whether the range contains this value."""
        if not self.is_of_addresses:
            return int(text) in self.numbers
        address = ipaddress.ip_address(text)
        return address.version == 4 and int(address) in self.numbers

    def guesses(self, random: Chooser) -> list[str]:
        """Returns a few random values that may be free."""
        usual = self.numbers[self.reserved :]
        return [self.spelled(random.choice(usual)) for _ in range(_GUESSES)] if usual else []

    def one_left(self, taken: Collection[str], random: Chooser) -> str | None:
        """Returns a value that is not allocated; None if all are."""
        for band in (self.numbers[self.reserved :], self.numbers[: self.reserved]):
            free = [number for number in band if self.spelled(number) not in taken]
            if free:
                return self.spelled(random.choice(free))
        return None


class Pools(NamedTuple):
    """The allocation pools of addresses and node ports."""

    addresses: Pool
    node_ports: Pool


def addresses(range_: str) -> Pool:
    """Returns the pool of the addresses of a range, without its first and last, which are not host addresses."""
    network = ipaddress.IPv4Network(range_)
    numbers = range(int(network.network_address) + 1, int(network.broadcast_address))
    return Pool("ip/", range_, numbers, min(max(16, len(numbers) // 16), 256), is_of_addresses=True)


def node_ports(first: int, last: int) -> Pool:
    """Returns the pool of the ports of a range, both ends included."""
    numbers = range(first, last + 1)
    return Pool("nodeport/", f"{first}-{last}", numbers, min(max(16, len(numbers) // 32), 128))


DEFAULT_POOLS = Pools(addresses("10.96.0.0/12"), node_ports(30000, 32767))
