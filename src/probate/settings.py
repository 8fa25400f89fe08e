"""The settings of a server process, read once at its start. docs/settings.md explains each; tests/unit/test_docs.py checks that."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_STORE = "sqlite:probate.db"
DEFAULT_LISTEN = "127.0.0.1:8080"
DEFAULT_HISTORY = 24 * 3600.0
MEMORY_HISTORY = 5 * 60.0
"""The history of a store in memory, where old revisions take up the process's memory."""
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
    """The settings of `probate serve`, in the groups of its help."""

    # Store
    store: str = DEFAULT_STORE
    """The store's address: `sqlite:FILE`, `memory:` or `etcd://HOST:PORT,…`."""
    history: float | None = None
    """Seconds for which old revisions are kept; None selects the store's default."""

    # Network
    listen: str = DEFAULT_LISTEN
    """The address to serve on, as HOST:PORT."""
    advertise_address: str = ""
    """The IP address at which other machines reach the server; empty: that of `listen`."""
    max_connections: int = DEFAULT_MAX_CONNECTIONS
    """The maximum number of open connections."""
    kubeconfig: str = DEFAULT_KUBECONFIG
    """The kubeconfig file to write; empty: none."""

    # TLS and authentication
    insecure: bool = False
    """Serves plain HTTP on loopback addresses and allows every request."""
    pki: str = DEFAULT_PKI
    """The folder for the certificates and keys that the server issues for itself."""
    tls_name: tuple[str, ...] = ()
    """Additional names and addresses for the server's certificate."""
    tls_cert_file: str = ""
    """The server's certificate; empty: the server issues its own."""
    tls_private_key_file: str = ""
    """The key of `tls_cert_file`."""
    root_ca_file: str = ""
    """The CA certificate (PEM) with which pods verify the server, published in each namespace; empty: the server's own."""
    client_ca_file: str = ""
    """Additional CA certificates that may sign client certificates."""
    token_file: str = ""
    """The file of hashed bearer tokens."""
    service_account_issuer: str = DEFAULT_ISSUER
    """The issuer of service account tokens."""
    service_account_jwks_uri: str = ""
    """The URL of the keys that verify these tokens; empty: this server's."""
    oidc_issuer_url: str = ""
    """The OpenID Connect issuer whose ID tokens are accepted."""
    oidc_client_id: str = ""
    """The audience that ID tokens must have."""
    oidc_username_claim: str = "sub"
    """The claim with the user name."""
    oidc_username_prefix: str = ""
    """The prefix of user names. "-" is none; empty is the issuer and "#", unless the claim is an email address."""
    oidc_groups_claim: str = ""
    """The claim with the groups; empty: none."""
    oidc_groups_prefix: str = ""
    """The prefix of groups."""
    oidc_ca_file: str = ""
    """The CA certificates that verify the issuer's server; empty: those of the system."""

    # Authorization and admission
    owner_rights: str = DEFAULT_OWNER_RIGHTS
    """Which owner references require permission on the owner: none, blocking or all."""
    owner_checks: str = DEFAULT_OWNER_CHECKS
    """The response to an owner reference that cannot work: off, warn or refuse."""
    admission: tuple[str, ...] = ()
    """Additional admission plugins to enable."""
    webhook_service: tuple[str, ...] = DEFAULT_WEBHOOK_SERVICES
    """The URLs of Services that webhooks refer to: NAMESPACE/NAME[:PORT]=URL."""

    # Audit and logging
    log_level: str = DEFAULT_LOG_LEVEL
    """The lowest level that is logged: debug, info, warning or error."""
    log_format: str = DEFAULT_LOG_FORMAT
    """The format of log lines: text or json."""
    audit_log_path: str = ""
    """The audit log file; "-": standard output; empty: no audit log."""
    audit_policy_file: str = ""
    """The file with the audit policy; empty: the default policy."""
    audit_log_maxsize: int = DEFAULT_AUDIT_SIZE
    """The size in megabytes at which the audit log file is rotated."""
    audit_log_maxbackup: int = DEFAULT_AUDIT_BACKUPS
    """The number of rotated files to keep; 0: all."""
    audit_log_maxage: int = 0
    """The number of days to keep rotated files; 0: forever."""
    audit_log_mode: str = DEFAULT_AUDIT_MODE
    """What happens to requests while the audit log cannot be written: batch or strict."""

    # Controllers
    controllers: str = DEFAULT_CONTROLLERS
    """The controllers to run, in the syntax of `controllers.selection`."""
    terminated_pod_gc_threshold: int = DEFAULT_TERMINATED_PODS
    """The number of terminated pods to keep; 0 or less: all."""
    node_eviction_rate: float = DEFAULT_EVICTION_RATE
    """The maximum number of unreachable nodes per second, in a zone, whose pods are evicted."""
    secondary_node_eviction_rate: float = DEFAULT_SECONDARY_EVICTION_RATE
    """The same rate for a large zone that is unhealthy. A small unhealthy zone has no evictions."""
    large_cluster_size_threshold: int = DEFAULT_LARGE_ZONE
    """The number of nodes above which a zone is large."""
    unhealthy_zone_threshold: float = DEFAULT_UNHEALTHY_SHARE
    """The share of unreachable nodes from which a zone is unhealthy."""

    # Simulated nodes
    nodes: int = DEFAULT_NODES
    """The number of simulated nodes."""
    pod_start_delay: float = 1.0
    """Seconds until a pod on a simulated node runs and is ready."""
    pod_stop_delay: float = 1.0
    """Seconds until a deleted pod on a simulated node terminates, unless its grace period ends before."""

    # Timing
    patience: float = DEFAULT_PATIENCE
    """Seconds that a client has to send its headers, to send its body, or to read some of its response."""
    event_ttl: float = 3600.0
    """Seconds for which an Event is kept after its last write."""
    node_monitor_grace_period: float = 50.0
    """Seconds without a heartbeat after which a node counts as unreachable."""
    node_startup_grace_period: float = 60.0
    """The same for a node that has never reported its status."""

    @property
    def history_seconds(self) -> float:
        """Seconds for which old revisions are kept."""
        if self.history is not None:
            return self.history
        return MEMORY_HISTORY if self.store == "memory:" else DEFAULT_HISTORY

    @property
    def has_shared_store(self) -> bool:
        """Whether other servers may use the same store."""
        return self.store.startswith("etcd:")


DEFAULT_SETTINGS = Settings()
