"""Options of the groups Store and Network."""

from __future__ import annotations

import click

from probate.cli.option_groups import Duration, OptionGroup, option
from probate.settings import DEFAULT_KUBECONFIG, DEFAULT_LISTEN, DEFAULT_MAX_CONNECTIONS, DEFAULT_STORE, MIN_MAX_CONNECTIONS

STORE = OptionGroup(
    "Store",
    [
        option(
            "--store",
            "The store for objects: sqlite:FILE, memory: or etcd://HOST:PORT,HOST:PORT.",
            metavar="ADDRESS",
            default=DEFAULT_STORE,
        ),
        option(
            "--history",
            "How long old revisions of objects are kept.",
            metavar="TIME",
            type=Duration(),
            default=None,
            shown="24h, or 5m with memory:",
        ),
    ],
)

NETWORK = OptionGroup(
    "Network",
    [
        option(
            "--listen",
            "The address to serve on; port 0 selects a free port.",
            metavar="HOST:PORT",
            default=DEFAULT_LISTEN,
        ),
        option(
            "--advertise-address",
            "The IP address at which other machines and pods reach the server.",
            metavar="ADDRESS",
            shown="that of --listen",
        ),
        option(
            "--max-connections",
            "The maximum number of open connections; each needs a file descriptor.",
            metavar="NUMBER",
            type=click.IntRange(MIN_MAX_CONNECTIONS),
            default=DEFAULT_MAX_CONNECTIONS,
        ),
        option(
            "--kubeconfig",
            'The kubeconfig file to write for clients; "" writes none.',
            metavar="FILE",
            default=DEFAULT_KUBECONFIG,
        ),
    ],
)

GROUPS = (STORE, NETWORK)
