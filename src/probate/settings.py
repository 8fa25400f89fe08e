"""What a process is told at its start: read once, never changed. docs/settings.md explains each; a test sees to it."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_STORE = "sqlite:probate.db"
DEFAULT_LISTEN = "127.0.0.1:8080"
DEFAULT_HISTORY = 24 * 3600.0
MEMORY_HISTORY = 5 * 60.0
"""In memory, where it takes room that nobody gets back."""
DEFAULT_PATIENCE = 30.0
DEFAULT_MAX_CONNECTIONS = 12_000
MIN_MAX_CONNECTIONS = 20
DEFAULT_KUBECONFIG = "probate.kubeconfig"
DEFAULT_PKI = "probate.pki"
DEFAULT_ISSUER = "https://kubernetes.default.svc.cluster.local"
DEFAULT_LOG_LEVEL = "warning"
DEFAULT_LOG_FORMAT = "text"
OWNER_RIGHTS = ("none", "blocking", "all")
DEFAULT_OWNER_RIGHTS = "blocking"
OWNER_CHECKS = ("off", "warn", "refuse")
DEFAULT_OWNER_CHECKS = "warn"
AUDIT_MODES = ("batch", "strict")
DEFAULT_AUDIT_MODE = "batch"
DEFAULT_AUDIT_SIZE = 100
DEFAULT_AUDIT_BACKUPS = 10
ADMISSION = ("ServiceAccount",)
DEFAULT_CONTROLLERS = "all"
DEFAULT_NODES = 0
DEFAULT_TERMINATED_PODS = 12_500
DEFAULT_EVICTION_RATE = 0.1
DEFAULT_SECONDARY_EVICTION_RATE = 0.01
DEFAULT_LARGE_ZONE = 50
DEFAULT_UNHEALTHY_SHARE = 0.55
DEFAULT_WEBHOOK_SERVICES: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of `probate serve`."""

    store: str = DEFAULT_STORE
    listen: str = DEFAULT_LISTEN
    advertise_address: str = ""
    """The address at which others reach the server; the one it listens on if empty."""
    history: float | None = None
    """Seconds for which the past is kept; None: as is usual for the store."""
    patience: float = DEFAULT_PATIENCE
    """Seconds that a client has to send what it began, or to read what it asked for."""
    max_connections: int = DEFAULT_MAX_CONNECTIONS
    """Connections that are open at once, at most."""
    kubeconfig: str = DEFAULT_KUBECONFIG
    """Where to write how clients find the server; nowhere if empty."""
    insecure: bool = False
    """Plain HTTP, to be reached from this machine only, where everybody may do anything."""
    pki: str = DEFAULT_PKI
    """The folder of the certificates and keys that the server makes for itself."""
    tls_name: tuple[str, ...] = ()
    """More names and addresses by which the server is reached."""
    tls_cert_file: str = ""
    """The server's certificate, if it does not make its own."""
    tls_private_key_file: str = ""
    """Its key."""
    client_ca_file: str = ""
    """Who else may sign the certificates of clients."""
    token_file: str = ""
    """Where tokens are listed."""
    service_account_issuer: str = DEFAULT_ISSUER
    """As whom the server signs the tokens of service accounts."""
    service_account_jwks_uri: str = ""
    """Where others find the key to verify them with; this server's own address if it is empty."""
    oidc_issuer_url: str = ""
    """Whose ID tokens are believed."""
    oidc_client_id: str = ""
    """What they have to be for."""
    oidc_username_claim: str = "sub"
    """Which claim has the name."""
    oidc_username_prefix: str = ""
    """What comes before it. "-" is nothing; if it is empty it is the issuer and "#", unless the name is an email address."""
    oidc_groups_claim: str = ""
    """Which claim has the groups; none if it is empty."""
    oidc_groups_prefix: str = ""
    """What comes before each of them."""
    oidc_ca_file: str = ""
    """Who signs the issuer's certificate; who signs others' on this machine, if it is empty."""
    log_level: str = DEFAULT_LOG_LEVEL
    """From which level on the log is written: debug, info, warning or error."""
    log_format: str = DEFAULT_LOG_FORMAT
    """How its lines are written: text or json."""
    audit_log_path: str = ""
    """Where the audit log is written, "-" for standard output; nowhere if empty."""
    audit_policy_file: str = ""
    """What is written there, as Kubernetes' audit policies say it; the usual, if empty."""
    audit_log_maxsize: int = DEFAULT_AUDIT_SIZE
    """Megabytes after which its file is put aside."""
    audit_log_maxbackup: int = DEFAULT_AUDIT_BACKUPS
    """How many of those are kept; all if it is 0."""
    audit_log_maxage: int = 0
    """How many days those are kept; for ever if it is 0."""
    audit_log_mode: str = DEFAULT_AUDIT_MODE
    """What becomes of requests when nothing can be written: batch or strict."""
    owner_rights: str = DEFAULT_OWNER_RIGHTS
    """Which references to owners one needs rights for: blocking or all."""
    owner_checks: str = DEFAULT_OWNER_CHECKS
    """What who refers to an owner gets that is not there, or out of reach: off, warn or refuse."""
    admission: tuple[str, ...] = ()
    """Which of the admission plugins that are off are on."""
    root_ca_file: str = ""
    """The certificate that pods check the server's against, as PEM, published in each namespace; none if empty."""
    controllers: str = DEFAULT_CONTROLLERS
    """Which controllers run: `controllers.runtime.selection` says how."""
    nodes: int = DEFAULT_NODES
    """Simulated nodes; none if 0."""
    event_ttl: float = 3600.0
    """Seconds for which an Event is kept after it was last written."""
    terminated_pod_gc_threshold: int = DEFAULT_TERMINATED_PODS
    """Pods that have ended and are kept; any number if it is not above 0."""
    node_monitor_grace_period: float = 50.0
    """Seconds without a sign of life after which a node counts as unreachable."""
    node_startup_grace_period: float = 60.0
    """The same for one that has never said how it is."""
    node_eviction_rate: float = DEFAULT_EVICTION_RATE
    """Nodes of a zone that are given up in a second, at most."""
    secondary_node_eviction_rate: float = DEFAULT_SECONDARY_EVICTION_RATE
    """The same in a large zone most of which is away. In a small one none is given up then."""
    large_cluster_size_threshold: int = DEFAULT_LARGE_ZONE
    """A zone with more nodes is large."""
    unhealthy_zone_threshold: float = DEFAULT_UNHEALTHY_SHARE
    """Which part of a zone is most of it."""
    pod_start_delay: float = 1.0
    """Seconds after which a pod on a simulated node runs and is ready."""
    pod_stop_delay: float = 1.0
    """Seconds that a pod on a simulated node takes to end when it is deleted, if its grace period is not over before."""

    webhook_service: tuple[str, ...] = DEFAULT_WEBHOOK_SERVICES
    """Where the Services are that webhooks are behind: NAMESPACE/NAME[:PORT]=URL."""

    @property
    def kept_history(self) -> float:
        """Seconds for which the past is kept."""
        if self.history is not None:
            return self.history
        return MEMORY_HISTORY if self.store == "memory:" else DEFAULT_HISTORY

    @property
    def is_shared(self) -> bool:
        """Whether other servers may be on the same store."""
        return self.store.startswith("etcd:")


USUAL = Settings()
