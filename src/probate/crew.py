"""The controllers that act through the API, and how each of them is started.

They are a third of all code, and no request waits for them: a process that serves loads this module when requests are answered
already (`probate.starting`).
"""

from __future__ import annotations

from collections.abc import Callable

from probate.control.means import Means
from probate.control.workers import Workers
from probate.lifecycle import (
    aggregation,
    ephemeralclaims,
    evictions,
    finishedjobs,
    flowschemas,
    identities,
    machines,
    nodes,
    podgc,
    policychecks,
    protection,
    serviceranges,
    signers,
    signingrequests,
    tokens,
)
from probate.lifecycle.storage import volumes
from probate.scheduling import controller as scheduler
from probate.simulation import nodes as simulated_nodes
from probate.simulation import pods as simulated_pods
from probate.workloads import deployments, replicasets, replicationcontrollers, residents
from probate.workloads.budgets import controller as budgets
from probate.workloads.cron import controller as cronjobs
from probate.workloads.daemon import controller as daemonsets
from probate.workloads.endpoints import controllers as endpoints
from probate.workloads.endpoints import mirrors
from probate.workloads.jobs import controller as jobs
from probate.workloads.stateful import controller as statefulsets

STARTS: dict[str, Callable[[Means], list[Workers]]] = {
    "replicationcontrollers": replicationcontrollers.start,
    "replicasets": replicasets.start,
    "deployments": deployments.start,
    "statefulsets": statefulsets.start,
    "daemonsets": daemonsets.start,
    "jobs": jobs.start,
    "cronjobs": cronjobs.start,
    "endpointslices": endpoints.start_slices,
    "endpoints": endpoints.start_endpoints,
    "endpointmirrors": mirrors.start,
    "disruptions": budgets.start,
    "serviceaccounts": residents.start_accounts,
    "certificates": residents.start_certificates,
    "tokens": tokens.start,
    "scheduler": scheduler.start,
    "nodes": nodes.start,
    "evictions": evictions.start,
    "machines": machines.start,
    "podgc": podgc.start,
    "finishedjobs": finishedjobs.start,
    "signingrequests": signingrequests.start,
    "signers": signers.start,
    "roles": aggregation.start,
    "policychecks": policychecks.start,
    "flowschemas": flowschemas.start,
    "serviceranges": serviceranges.start,
    "volumes": volumes.start,
    "volumeprotection": protection.start_volumes,
    "claimprotection": protection.start_claims,
    "attributeprotection": protection.start_attributes,
    "ephemeralclaims": ephemeralclaims.start,
    "simulator": lambda means: [*simulated_nodes.start(means), *simulated_pods.start(means)],
    "identities": identities.start,
}
