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

    `name` is kube-controller-manager's where that has such a controller; it is used by `--controllers`, metrics and logs.
    `account` is the service account in kube-system as which the controller acts: Kubernetes' own where it has one, else one whose
    name begins with `probate-`. `alias` is the name of earlier versions, which `--controllers` accepts until 1.0; a new controller
    has none. `--controllers all` leaves out a controller that is not `is_on_by_default`: a policy that deletes what Kubernetes
    would keep runs only if `--controllers` names it.

    There are three groups. A controller with a `trigger` acts on the store in bulk, and every server on a store runs it. One with
    `runs_everywhere` acts through the API, and every server runs it too. All others act through the API; on a store that several
    servers share, only the holder of the Lease runs them: a second copy would do no harm, but repeat much of the work.
    """

    name: str
    account: str
    start: tuple[str, ...] = ()
    trigger: DeletionTrigger | None = None  # what makes it delete objects; None if it acts through the API
    runs_everywhere: bool = False
    is_on_by_default: bool = True
    alias: str = ""


COLLECTOR = "garbage-collector-controller"
NAMESPACES = "namespace-controller"
CUSTOM_RESOURCE_DEFINITIONS = "customresourcedefinition-finalizer-controller"
TENANT_DELETION = "tenant-deletion-controller"
EVENT_TTL = "event-ttl-controller"
APISERVER_LEASES = "apiserver-identity-lease-controller"
SCHEDULER = "kube-scheduler"
SIMULATED_NODES = "simulated-node-controller"
TENANTS = "tenant-controller"

CONTROLLERS = (
    Controller(COLLECTOR, "generic-garbage-collector", trigger=DeletionTrigger.OWNERS, alias="collector"),
    Controller(NAMESPACES, "namespace-controller", trigger=DeletionTrigger.SCOPE, alias="namespaces"),
    Controller(CUSTOM_RESOURCE_DEFINITIONS, "probate-definitions", trigger=DeletionTrigger.SCOPE, alias="definitions"),
    Controller(TENANT_DELETION, "probate-tenant-deletion", trigger=DeletionTrigger.SCOPE),
    Controller(EVENT_TTL, "probate-event-expiry", trigger=DeletionTrigger.EXPIRY, alias="events"),
    Controller(
        APISERVER_LEASES,
        "probate-servers",
        ("probate.controllers.apiserver.apiserver_leases:start",),
        runs_everywhere=True,
        alias="identities",
    ),
    Controller(
        "replicationcontroller-controller",
        "replication-controller",
        ("probate.controllers.workloads.replicationcontrollers:start",),
        alias="replicationcontrollers",
    ),
    Controller(
        "replicaset-controller", "replicaset-controller", ("probate.controllers.workloads.replicasets:start",), alias="replicasets"
    ),
    Controller(
        "deployment-controller",
        "deployment-controller",
        ("probate.controllers.workloads.deployments.controller:start",),
        alias="deployments",
    ),
    Controller(
        "statefulset-controller",
        "statefulset-controller",
        ("probate.controllers.workloads.statefulsets.controller:start",),
        alias="statefulsets",
    ),
    Controller(
        "daemonset-controller",
        "daemon-set-controller",
        ("probate.controllers.workloads.daemonsets.controller:start",),
        alias="daemonsets",
    ),
    Controller("job-controller", "job-controller", ("probate.controllers.workloads.jobs.controller:start",), alias="jobs"),
    Controller(
        "cronjob-controller", "cronjob-controller", ("probate.controllers.workloads.cronjobs.controller:start",), alias="cronjobs"
    ),
    Controller(
        "endpointslice-controller",
        "endpointslice-controller",
        ("probate.controllers.workloads.endpoints.controllers:start_slices",),
        alias="endpointslices",
    ),
    Controller(
        "endpoints-controller",
        "endpoint-controller",
        ("probate.controllers.workloads.endpoints.controllers:start_endpoints",),
        alias="endpoints",
    ),
    Controller(
        "endpointslice-mirroring-controller",
        "endpointslicemirroring-controller",
        ("probate.controllers.workloads.endpoints.endpoint_slice_mirror:start",),
        alias="endpointmirrors",
    ),
    Controller(
        "disruption-controller",
        "disruption-controller",
        ("probate.controllers.workloads.disruption.controller:start",),
        alias="disruptions",
    ),
    Controller(
        "serviceaccount-controller",
        "service-account-controller",
        ("probate.controllers.access.namespace_defaults:start_service_accounts",),
        alias="serviceaccounts",
    ),
    Controller(
        "root-ca-certificate-publisher-controller",
        "root-ca-cert-publisher",
        ("probate.controllers.access.namespace_defaults:start_root_certificates",),
        alias="certificates",
    ),
    Controller(
        "serviceaccount-token-controller",
        "probate-tokens",
        ("probate.controllers.access.service_account_tokens:start",),
        alias="tokens",
    ),
    Controller(SCHEDULER, "", ("probate.controllers.scheduler.scheduler:start",), alias="scheduler"),
    Controller("node-lifecycle-controller", "node-controller", ("probate.controllers.nodes.node_lifecycle:start",), alias="nodes"),
    Controller(
        "taint-eviction-controller", "node-controller", ("probate.controllers.nodes.taint_eviction:start",), alias="evictions"
    ),
    Controller(
        "cloud-node-lifecycle-controller",
        "node-controller",
        ("probate.controllers.nodes.cloud_node_lifecycle:start",),
        alias="machines",
    ),
    Controller(
        "pod-garbage-collector-controller", "pod-garbage-collector", ("probate.controllers.lifecycle.pod_gc:start",), alias="podgc"
    ),
    Controller(
        "ttl-after-finished-controller",
        "ttl-after-finished-controller",
        ("probate.controllers.lifecycle.ttl_after_finished:start",),
        alias="finishedjobs",
    ),
    Controller(
        "certificatesigningrequest-cleaner-controller",
        "certificate-controller",
        ("probate.controllers.lifecycle.csr_cleaner:start",),
        alias="signingrequests",
    ),
    Controller(
        "certificatesigningrequest-signing-controller",
        "certificate-controller",
        ("probate.controllers.access.csr_signer:start",),
        alias="signers",
    ),
    Controller(
        "clusterrole-aggregation-controller",
        "clusterrole-aggregation-controller",
        ("probate.controllers.access.clusterrole_aggregation:start",),
        alias="roles",
    ),
    Controller(
        "validatingadmissionpolicy-status-controller",
        "validatingadmissionpolicy-status-controller",
        ("probate.controllers.apiserver.policy_status:start",),
        alias="policychecks",
    ),
    Controller(
        "flowschema-status-controller",
        "probate-flowschemas",
        ("probate.controllers.apiserver.flow_schema_status:start",),
        alias="flowschemas",
    ),
    Controller(
        "service-cidr-controller",
        "service-cidrs-controller",
        ("probate.controllers.apiserver.service_cidrs:start",),
        alias="serviceranges",
    ),
    Controller(
        "persistentvolume-binder-controller",
        "persistent-volume-binder",
        ("probate.controllers.storage.volume_lifecycle:start",),
        alias="volumes",
    ),
    Controller(
        "persistentvolume-protection-controller",
        "pv-protection-controller",
        ("probate.controllers.storage.in_use_protection:start_volumes",),
        alias="volumeprotection",
    ),
    Controller(
        "persistentvolumeclaim-protection-controller",
        "pvc-protection-controller",
        ("probate.controllers.storage.in_use_protection:start_claims",),
        alias="claimprotection",
    ),
    Controller(
        "volumeattributesclass-protection-controller",
        "volumeattributesclass-protection-controller",
        ("probate.controllers.storage.in_use_protection:start_attributes",),
        alias="attributeprotection",
    ),
    Controller(
        "ephemeral-volume-controller",
        "ephemeral-volume-controller",
        ("probate.controllers.storage.ephemeral_volumes:start",),
        alias="ephemeralclaims",
    ),
    Controller(TENANTS, "probate-tenants", ("probate.controllers.tenants.tenant_controller:start",)),
    Controller(
        SIMULATED_NODES,
        "probate-simulator",
        ("probate.controllers.simulated_nodes.node_agent:start", "probate.controllers.simulated_nodes.pod_agent:start"),
        alias="simulator",
    ),
)
"""All controllers, in the order of docs/settings.md."""

BULK_CONTROLLERS = tuple(row.name for row in CONTROLLERS if row.trigger is not None)
EVERY_SERVER_CONTROLLERS = tuple(row.name for row in CONTROLLERS if row.runs_everywhere)
API_CONTROLLERS = tuple(row.name for row in CONTROLLERS if row.trigger is None and not row.runs_everywhere)
NAMES = tuple(row.name for row in CONTROLLERS)
DEFAULT_NAMES = tuple(row.name for row in CONTROLLERS if row.is_on_by_default)

_BY_NAME = {name: row for row in CONTROLLERS for name in (row.name, row.alias) if name}


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
    """Imports the code of these controllers. Takes up to a second, so do not call it on the event loop."""
    for name in names:
        _start_functions(get(name))


def start(name: str, context: Context) -> list[Workers]:
    """Starts a controller. Returns its workers, which get its name."""
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
