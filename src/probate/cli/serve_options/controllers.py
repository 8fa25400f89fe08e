"""Options of the groups Controllers, Simulated nodes, Timing."""

from __future__ import annotations

import click

from probate.cli.option_groups import Duration, OptionGroup, option
from probate.settings import (
    DEFAULT_CONTROLLERS,
    DEFAULT_EVICTION_RATE,
    DEFAULT_LARGE_ZONE,
    DEFAULT_NODES,
    DEFAULT_SECONDARY_EVICTION_RATE,
    DEFAULT_TERMINATED_PODS,
    DEFAULT_UNHEALTHY_SHARE,
)

MAX_NODES = 4096
"""The number of address blocks for the pods of simulated nodes."""

CONTROLLERS = OptionGroup(
    "Controllers",
    [
        option(
            "--controllers",
            "The controllers to run: all, none, or a comma-separated list of names; -NAME excludes one.",
            metavar="NAMES",
            default=DEFAULT_CONTROLLERS,
        ),
        option(
            "--terminated-pod-gc-threshold",
            "The number of terminated pods to keep; 0 or less keeps all.",
            metavar="NUMBER",
            type=int,
            default=DEFAULT_TERMINATED_PODS,
        ),
        option(
            "--node-eviction-rate",
            "The maximum number of unreachable nodes per second, in a zone, whose pods are evicted.",
            metavar="NUMBER",
            type=click.FloatRange(0, 1000),
            default=DEFAULT_EVICTION_RATE,
        ),
        option(
            "--secondary-node-eviction-rate",
            "The same rate for a large zone that is unhealthy; a small unhealthy zone has no evictions.",
            metavar="NUMBER",
            type=click.FloatRange(0, 1000),
            default=DEFAULT_SECONDARY_EVICTION_RATE,
        ),
        option(
            "--large-cluster-size-threshold",
            "The number of nodes above which a zone is large.",
            metavar="NUMBER",
            type=int,
            default=DEFAULT_LARGE_ZONE,
        ),
        option(
            "--unhealthy-zone-threshold",
            "The share of unreachable nodes at which a zone counts as unhealthy.",
            metavar="SHARE",
            type=click.FloatRange(0, 1),
            default=DEFAULT_UNHEALTHY_SHARE,
        ),
    ],
)

SIMULATED_NODES = OptionGroup(
    "Simulated nodes",
    [
        option(
            "--nodes",
            "The number of simulated nodes.",
            metavar="NUMBER",
            type=click.IntRange(0, MAX_NODES),
            default=DEFAULT_NODES,
        ),
        option(
            "--pod-start-delay",
            "How long a pod on a simulated node takes to run and be ready.",
            metavar="TIME",
            type=Duration(),
            default="1s",
        ),
        option(
            "--pod-stop-delay",
            "How long a deleted pod on a simulated node takes to terminate, within its grace period.",
            metavar="TIME",
            type=Duration(),
            default="1s",
        ),
    ],
)

TIMING = OptionGroup(
    "Timing",
    [
        option(
            "--patience",
            "How long a client may take to send its headers, to send its body, or to read some of its response.",
            metavar="TIME",
            type=Duration(),
            default="30s",
        ),
        option(
            "--event-ttl",
            "How long an Event is kept after its last write.",
            metavar="TIME",
            type=Duration(),
            default="1h",
        ),
        option(
            "--node-monitor-grace-period",
            "How long a node may go without a heartbeat before it counts as unreachable.",
            metavar="TIME",
            type=Duration(),
            default="50s",
        ),
        option(
            "--node-startup-grace-period",
            "The same period for a node that has never reported its status.",
            metavar="TIME",
            type=Duration(),
            default="60s",
        ),
    ],
)

GROUPS = (CONTROLLERS, SIMULATED_NODES, TIMING)
