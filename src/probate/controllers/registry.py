"""The controllers that act through the API, and how each of them is started.

They are a third of all code, and no request waits for them: a process that serves loads this module when requests are answered
already (`probate.app.startup`).
"""

from __future__ import annotations

from collections.abc import Callable

from probate.controllers.access import clusterrole_aggregation, csr_signing, namespace_defaults, service_account_tokens
from probate.controllers.apiserver import apiserver_leases, flow_schema_status, policy_status, service_cidrs
from probate.controllers.lifecycle import csr_cleaner, pod_gc, ttl_after_finished
from probate.controllers.nodes import cloud_node_lifecycle, node_lifecycle, taint_eviction
from probate.controllers.runtime.context import Means
from probate.controllers.runtime.workers import Workers
from probate.controllers.scheduler import scheduler
from probate.controllers.simulated_nodes import node_agent as simulated_nodes
from probate.controllers.simulated_nodes import pod_agent as simulated_pods
from probate.controllers.storage import ephemeral_volumes, in_use_protection, volume_lifecycle
from probate.controllers.workloads import replicasets, replicationcontrollers
from probate.controllers.workloads.cronjobs import controller as cronjobs
from probate.controllers.workloads.daemonsets import controller as daemonsets
from probate.controllers.workloads.deployments import controller
from probate.controllers.workloads.disruption import controller as budgets
from probate.controllers.workloads.endpoints import controllers as endpoints
from probate.controllers.workloads.endpoints import mirroring
from probate.controllers.workloads.jobs import controller as jobs
from probate.controllers.workloads.statefulsets import controller as statefulsets

STARTS: dict[str, Callable[[Means], list[Workers]]] = {
    "replicationcontrollers": replicationcontrollers.start,
    "replicasets": replicasets.start,
    "deployments": controller.start,
    "statefulsets": statefulsets.start,
    "daemonsets": daemonsets.start,
    "jobs": jobs.start,
    "cronjobs": cronjobs.start,
    "endpointslices": endpoints.start_slices,
    "endpoints": endpoints.start_endpoints,
    "endpointmirrors": mirroring.start,
    "disruptions": budgets.start,
    "serviceaccounts": namespace_defaults.start_accounts,
    "certificates": namespace_defaults.start_certificates,
    "tokens": service_account_tokens.start,
    "scheduler": scheduler.start,
    "nodes": node_lifecycle.start,
    "evictions": taint_eviction.start,
    "machines": cloud_node_lifecycle.start,
    "podgc": pod_gc.start,
    "finishedjobs": ttl_after_finished.start,
    "signingrequests": csr_cleaner.start,
    "signers": csr_signing.start,
    "roles": clusterrole_aggregation.start,
    "policychecks": policy_status.start,
    "flowschemas": flow_schema_status.start,
    "serviceranges": service_cidrs.start,
    "volumes": volume_lifecycle.start,
    "volumeprotection": in_use_protection.start_volumes,
    "claimprotection": in_use_protection.start_claims,
    "attributeprotection": in_use_protection.start_attributes,
    "ephemeralclaims": ephemeral_volumes.start,
    "simulator": lambda means: [*simulated_nodes.start(means), *simulated_pods.start(means)],
    "identities": apiserver_leases.start,
}
