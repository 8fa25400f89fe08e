"""The table of controllers: one row for each, with its name, its service account and what starts it.

The table is light to import. Start functions are named as "module:function" and imported by `load`, because the controllers are a
third of all code and no request waits for them.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from probate.api.rbac.users import AUTHENTICATED, User, service_account_user
from probate.server.authz.actors import Actor, DeletionTrigger

if TYPE_CHECKING:
    from collections.abc import Callable

    from probate.controllers.runtime.context import Context
    from probate.controllers.runtime.workers import Workers


class Controller(NamedTuple):
    """One controller.

    `name` is kube-controller-manager's where that has such a controller; it is used by `--controllers`, metrics and logs. `alias`
    is the name of earlier versions, which `--controllers` accepts until 1.0. `account` is the service account in kube-system as
    which the controller acts: Kubernetes' own where it has one.

    There are three groups. A controller with a `trigger` acts on the store in bulk, and every server on a store runs it. One with
    `runs_everywhere` acts through the API, and every server runs it too. All others act through the API; on a store that several
    servers share, only the holder of the Lease runs them: a second copy would do no harm, but repeat much of the work.
    """

    name: str
    alias: str
    account: str
    start: tuple[str, ...] = ()
    trigger: DeletionTrigger | None = None  # what makes it delete objects; None if it acts through the API
    runs_everywhere: bool = False


COLLECTOR = "garbage-collector-controller"
NAMESPACES = "namespace-controller"
CUSTOM_RESOURCE_DEFINITIONS = "customresourcedefinition-finalizer-controller"
EVENT_TTL = "event-ttl-controller"
APISERVER_LEASES = "apiserver-identity-lease-controller"
SCHEDULER = "kube-scheduler"
SIMULATED_NODES = "simulated-node-controller"

CONTROLLERS = (
    Controller(COLLECTOR, "collector", "generic-garbage-collector", trigger=DeletionTrigger.OWNERS),
    Controller(NAMESPACES, "namespaces", "namespace-controller", trigger=DeletionTrigger.SCOPE),
    Controller(CUSTOM_RESOURCE_DEFINITIONS, "definitions", "probate-definitions", trigger=DeletionTrigger.SCOPE),
    Controller(EVENT_TTL, "events", "probate-event-expiry", trigger=DeletionTrigger.EXPIRY),
    Controller(
        APISERVER_LEASES,
        "identities",
        "probate-servers",
        ("probate.controllers.apiserver.apiserver_leases:start",),
        runs_everywhere=True,
    ),
    Controller(
        "replicationcontroller-controller",
        "replicationcontrollers",
        "replication-controller",
        ("probate.controllers.workloads.replicationcontrollers:start",),
    ),
    Controller(
        "replicaset-controller",
        "replicasets",
        "replicaset-controller",
        ("probate.controllers.workloads.replicasets:start",),
    ),
    Controller(
        "deployment-controller",
        "deployments",
        "deployment-controller",
        ("probate.controllers.workloads.deployments.controller:start",),
    ),
    Controller(
        "statefulset-controller",
        "statefulsets",
        "statefulset-controller",
        ("probate.controllers.workloads.statefulsets.controller:start",),
    ),
    Controller(
        "daemonset-controller",
        "daemonsets",
        "daemon-set-controller",
        ("probate.controllers.workloads.daemonsets.controller:start",),
    ),
    Controller("job-controller", "jobs", "job-controller", ("probate.controllers.workloads.jobs.controller:start",)),
    Controller(
        "cronjob-controller", "cronjobs", "cronjob-controller", ("probate.controllers.workloads.cronjobs.controller:start",)
    ),
    Controller(
        "endpointslice-controller",
        "endpointslices",
        "endpointslice-controller",
        ("probate.controllers.workloads.endpoints.controllers:start_slices",),
    ),
    Controller(
        "endpoints-controller",
        "endpoints",
        "endpoint-controller",
        ("probate.controllers.workloads.endpoints.controllers:start_endpoints",),
    ),
    Controller(
        "endpointslice-mirroring-controller",
        "endpointmirrors",
        "endpointslicemirroring-controller",
        ("probate.controllers.workloads.endpoints.endpoint_slice_mirror:start",),
    ),
    Controller(
        "disruption-controller",
        "disruptions",
        "disruption-controller",
        ("probate.controllers.workloads.disruption.controller:start",),
    ),
    Controller(
        "serviceaccount-controller",
        "serviceaccounts",
        "service-account-controller",
        ("probate.controllers.access.namespace_defaults:start_service_accounts",),
    ),
    Controller(
        "root-ca-certificate-publisher-controller",
        "certificates",
        "root-ca-cert-publisher",
        ("probate.controllers.access.namespace_defaults:start_root_certificates",),
    ),
    Controller(
        "serviceaccount-token-controller",
        "tokens",
        "probate-tokens",
        ("probate.controllers.access.service_account_tokens:start",),
    ),
    Controller(SCHEDULER, "scheduler", "", ("probate.controllers.scheduler.scheduler:start",)),
    Controller("node-lifecycle-controller", "nodes", "node-controller", ("probate.controllers.nodes.node_lifecycle:start",)),
    Controller("taint-eviction-controller", "evictions", "node-controller", ("probate.controllers.nodes.taint_eviction:start",)),
    Controller(
        "cloud-node-lifecycle-controller",
        "machines",
        "node-controller",
        ("probate.controllers.nodes.cloud_node_lifecycle:start",),
    ),
    Controller(
        "pod-garbage-collector-controller", "podgc", "pod-garbage-collector", ("probate.controllers.lifecycle.pod_gc:start",)
    ),
    Controller(
        "ttl-after-finished-controller",
        "finishedjobs",
        "ttl-after-finished-controller",
        ("probate.controllers.lifecycle.ttl_after_finished:start",),
    ),
    Controller(
        "certificatesigningrequest-cleaner-controller",
        "signingrequests",
        "certificate-controller",
        ("probate.controllers.lifecycle.csr_cleaner:start",),
    ),
    Controller(
        "certificatesigningrequest-signing-controller",
        "signers",
        "certificate-controller",
        ("probate.controllers.access.csr_signer:start",),
    ),
    Controller(
        "clusterrole-aggregation-controller",
        "roles",
        "clusterrole-aggregation-controller",
        ("probate.controllers.access.clusterrole_aggregation:start",),
    ),
    Controller(
        "validatingadmissionpolicy-status-controller",
        "policychecks",
        "validatingadmissionpolicy-status-controller",
        ("probate.controllers.apiserver.policy_status:start",),
    ),
    Controller(
        "flowschema-status-controller",
        "flowschemas",
        "probate-flowschemas",
        ("probate.controllers.apiserver.flow_schema_status:start",),
    ),
    Controller(
        "service-cidr-controller",
        "serviceranges",
        "service-cidrs-controller",
        ("probate.controllers.apiserver.service_cidrs:start",),
    ),
    Controller(
        "persistentvolume-binder-controller",
        "volumes",
        "persistent-volume-binder",
        ("probate.controllers.storage.volume_lifecycle:start",),
    ),
    Controller(
        "persistentvolume-protection-controller",
        "volumeprotection",
        "pv-protection-controller",
        ("probate.controllers.storage.in_use_protection:start_volumes",),
    ),
    Controller(
        "persistentvolumeclaim-protection-controller",
        "claimprotection",
        "pvc-protection-controller",
        ("probate.controllers.storage.in_use_protection:start_claims",),
    ),
    Controller(
        "volumeattributesclass-protection-controller",
        "attributeprotection",
        "volumeattributesclass-protection-controller",
        ("probate.controllers.storage.in_use_protection:start_attributes",),
    ),
    Controller(
        "ephemeral-volume-controller",
        "ephemeralclaims",
        "ephemeral-volume-controller",
        ("probate.controllers.storage.ephemeral_volumes:start",),
    ),
    Controller(
        SIMULATED_NODES,
        "simulator",
        "probate-simulator",
        (
            "probate.controllers.simulated_nodes.node_agent:start",
            "probate.controllers.simulated_nodes.pod_agent:start",
        ),
    ),
)
"""All controllers, in the order of docs/settings.md."""

BULK_CONTROLLERS = tuple(row.name for row in CONTROLLERS if row.trigger is not None)
EVERY_SERVER_CONTROLLERS = tuple(row.name for row in CONTROLLERS if row.runs_everywhere)
API_CONTROLLERS = tuple(row.name for row in CONTROLLERS if row.trigger is None and not row.runs_everywhere)
NAMES = tuple(row.name for row in CONTROLLERS)

_BY_NAME = {name: row for row in CONTROLLERS for name in (row.name, row.alias)}


def find(name: str) -> Controller | None:
    """Returns the controller of this name or alias."""
    return _BY_NAME.get(name)


def get(name: str) -> Controller:
    """Returns the controller of this name or alias. `KeyError` if there is none."""
    return _BY_NAME[name]


def user_of(name: str) -> User:
    """Returns the user as which a controller acts. The scheduler has a user instead of a service account, as in Kubernetes."""
    row = get(name)
    return service_account_user("kube-system", row.account) if row.account else User("system:kube-scheduler", (AUTHENTICATED,))


def bulk_actor(name: str, *, is_checked: bool) -> Actor:
    """Returns the actor as which a bulk controller acts on the store."""
    trigger = get(name).trigger
    assert trigger is not None, f"{name} acts through the API"  # noqa: S101
    return Actor(user_of(name), trigger, is_checked)


def load(names: Iterable[str]) -> None:
    """Imports the code of these controllers. That takes up to a second: not on the event loop."""
    for name in names:
        _start_functions(get(name))


def start(name: str, context: Context) -> list[Workers]:
    """Starts a controller: returns its workers, which carry its name."""
    row = get(name)
    started = [workers for function in _start_functions(row) for workers in function(context)]
    for workers in started:
        workers.controller = row.name
    return started


def _start_functions(row: Controller) -> list[Callable[[Context], list[Workers]]]:
    found = []
    for path in row.start:
        module, _, function = path.partition(":")
        found.append(getattr(importlib.import_module(module), function))
    return found
