"""`probate serve`: the API server."""

from __future__ import annotations

import re
from typing import Any

import click

from probate.cli.context import Doors
from probate.core import logs
from probate.lib import durations
from probate.settings import (
    ADMISSION,
    AUDIT_MODES,
    DEFAULT_AUDIT_BACKUPS,
    DEFAULT_AUDIT_MODE,
    DEFAULT_AUDIT_SIZE,
    DEFAULT_CONTROLLERS,
    DEFAULT_EVICTION_RATE,
    DEFAULT_ISSUER,
    DEFAULT_KUBECONFIG,
    DEFAULT_LARGE_ZONE,
    DEFAULT_LISTEN,
    DEFAULT_LOG_FORMAT,
    DEFAULT_LOG_LEVEL,
    DEFAULT_MAX_CONNECTIONS,
    DEFAULT_NODES,
    DEFAULT_OWNER_CHECKS,
    DEFAULT_OWNER_RIGHTS,
    DEFAULT_PKI,
    DEFAULT_SECONDARY_EVICTION_RATE,
    DEFAULT_STORE,
    DEFAULT_TERMINATED_PODS,
    DEFAULT_UNHEALTHY_SHARE,
    DEFAULT_WEBHOOK_SERVICES,
    MIN_MAX_CONNECTIONS,
    OWNER_CHECKS,
    OWNER_RIGHTS,
    Settings,
)

MOST_NODES = 4096
"""As many blocks of addresses there are for their pods."""


_BARE_NUMBER = re.compile(r"\s*0*[1-9.][0-9.]*\s*")


class Duration(click.ParamType[float]):
    """A length of time such as 200ms, 90s, 1h30m or 3d12h."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        found = None if _BARE_NUMBER.fullmatch(str(value)) else durations.seconds(str(value))  # 24 of what?
        if found is None:
            self.fail(f"{str(value)[:100]!r} is not a duration. Give numbers with units, such as {durations.EXAMPLES}", param, ctx)
        return found


@click.command("serve")
@click.option(
    "--store", default=DEFAULT_STORE, show_default=True, metavar="ADDRESS", help="sqlite:FILE, memory: or etcd://HOST:PORT,…"
)
@click.option(
    "--listen",
    default=DEFAULT_LISTEN,
    show_default=True,
    metavar="HOST:PORT",
    help="Where to serve. Port 0 takes a free one.",
)
@click.option(
    "--advertise-address",
    default="",
    show_default="that of --listen",
    metavar="ADDRESS",
    help="The address at which others reach the server: the Service kubernetes leads there.",
)
@click.option(
    "--history",
    type=Duration(),
    default=None,
    show_default="24h, or 5m with memory:",
    metavar="TIME",
    help="How long the past of objects is kept.",
)
@click.option(
    "--patience",
    type=Duration(),
    default="30s",
    show_default=True,
    metavar="TIME",
    help="How long a client may take to send its headers, or its body, or to read some of its answer.",
)
@click.option(
    "--max-connections",
    type=click.IntRange(MIN_MAX_CONNECTIONS),
    default=DEFAULT_MAX_CONNECTIONS,
    show_default=True,
    metavar="NUMBER",
    help="How many connections may be open at once. Each needs a file descriptor.",
)
@click.option(
    "--kubeconfig",
    default=DEFAULT_KUBECONFIG,
    show_default=True,
    metavar="FILE",
    help='Where to write how clients find the server. Nowhere if it is "".',
)
@click.option(
    "--insecure",
    is_flag=True,
    help="Serve plain HTTP, on loopback addresses only, and let everybody do anything. For tests on one machine.",
)
@click.option(
    "--pki",
    default=DEFAULT_PKI,
    show_default=True,
    metavar="FOLDER",
    help="Where the certificates and keys are that the server makes for itself, and makes anew before they end.",
)
@click.option(
    "--tls-name",
    multiple=True,
    show_default="none",
    metavar="NAME",
    help="A name or address by which the server is reached, besides localhost and its own. Can be given more than once.",
)
@click.option(
    "--tls-cert-file",
    default="",
    show_default="its own",
    metavar="FILE",
    help="The server's certificate, if it shall not make its own.",
)
@click.option("--tls-private-key-file", default="", show_default="its own", metavar="FILE", help="The key of that certificate.")
@click.option(
    "--client-ca-file",
    default="",
    show_default="none",
    metavar="FILE",
    help="Certificates of those who sign clients' ones, besides the server itself.",
)
@click.option(
    "--token-file", default="", show_default="none", metavar="FILE", help="Tokens by their hashes, as `probate token` writes them."
)
@click.option(
    "--service-account-issuer",
    default=DEFAULT_ISSUER,
    show_default=True,
    metavar="URL",
    help="As whom the server signs the tokens of service accounts, and for whom they are if nobody else is named.",
)
@click.option(
    "--service-account-jwks-uri",
    default="",
    show_default="this server",
    metavar="URL",
    help="Where the issuer's discovery document says that the key for these tokens is, for others to verify them.",
)
@click.option("--oidc-issuer-url", default="", show_default="none", metavar="URL", help="Whose ID tokens are believed.")
@click.option("--oidc-client-id", default="", show_default="none", metavar="NAME", help="For whom they have to be.")
@click.option("--oidc-username-claim", default="sub", show_default=True, metavar="NAME", help="Which claim has the user's name.")
@click.option(
    "--oidc-username-prefix",
    default="",
    show_default="the issuer and #",
    metavar="TEXT",
    help='What comes before it: "-" is nothing; if it is not given, it is the issuer and "#", but nothing before an email address.',
)
@click.option("--oidc-groups-claim", default="", show_default="none", metavar="NAME", help="Which claim has the user's groups.")
@click.option("--oidc-groups-prefix", default="", show_default="none", metavar="TEXT", help="What comes before each of them.")
@click.option(
    "--oidc-ca-file",
    default="",
    show_default="those of the machine",
    metavar="FILE",
    help="Who signs the issuer's certificate, if it is nobody well known.",
)
@click.option(
    "--log-level",
    type=click.Choice(logs.LEVELS),
    default=DEFAULT_LOG_LEVEL,
    show_default=True,
    help="From which level on to write the log. From info on it says why each object was collected.",
)
@click.option(
    "--log-format",
    type=click.Choice(logs.FORMATS),
    default=DEFAULT_LOG_FORMAT,
    show_default=True,
    help="How to write the lines of the log.",
)
@click.option(
    "--audit-log-path",
    default="",
    show_default="none",
    metavar="FILE",
    help="Where to write who asked for what, and what was collected why: JSON lines, to standard output if it is -.",
)
@click.option(
    "--audit-policy-file",
    default="",
    show_default="the usual",
    metavar="FILE",
    help="How much is written there of which requests: a Policy of audit.k8s.io/v1.",
)
@click.option(
    "--audit-log-maxsize",
    type=click.IntRange(1),
    default=DEFAULT_AUDIT_SIZE,
    show_default=True,
    metavar="MEGABYTES",
    help="How large its file gets before it is put aside.",
)
@click.option(
    "--audit-log-maxbackup",
    type=click.IntRange(0),
    default=DEFAULT_AUDIT_BACKUPS,
    show_default=True,
    metavar="NUMBER",
    help="How many of those put aside are kept. All if it is 0.",
)
@click.option(
    "--audit-log-maxage",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="DAYS",
    help="How long they are kept. For ever if it is 0.",
)
@click.option(
    "--audit-log-mode",
    type=click.Choice(AUDIT_MODES),
    default=DEFAULT_AUDIT_MODE,
    show_default=True,
    help="When it cannot be written for long: go on and count what is lost (batch), or refuse requests (strict).",
)
@click.option(
    "--owner-rights",
    type=click.Choice(OWNER_RIGHTS),
    default=DEFAULT_OWNER_RIGHTS,
    show_default=True,
    help="To refer to which owners one needs the right to hold them: none, those whose deletion one blocks, or all.",
)
@click.option(
    "--owner-checks",
    type=click.Choice(OWNER_CHECKS),
    default=DEFAULT_OWNER_CHECKS,
    show_default=True,
    help="What who refers to an owner gets that is not there, out of reach, or another one: nothing, a warning, or a refusal.",
)
@click.option(
    "--admission",
    type=click.Choice(ADMISSION),
    multiple=True,
    show_default="none",
    help="An admission plugin to switch on. ServiceAccount gives pods an account and its token. Can be given more than once.",
)
@click.option(
    "--root-ca-file",
    default="",
    show_default="none",
    metavar="FILE",
    help="The certificate (PEM) that pods check the server's against: each namespace gets it as ConfigMap kube-root-ca.crt.",
)
@click.option(
    "--controllers",
    default=DEFAULT_CONTROLLERS,
    show_default=True,
    metavar="NAMES",
    help="Which controllers run: all, none, or names with commas between them; -NAME leaves one out.",
)
@click.option(
    "--nodes",
    type=click.IntRange(0, MOST_NODES),
    default=DEFAULT_NODES,
    show_default=True,
    metavar="NUMBER",
    help="Simulated nodes, on which pods start, run and end by the clock.",
)
@click.option(
    "--event-ttl",
    type=Duration(),
    default="1h",
    show_default=True,
    metavar="TIME",
    help="How long an Event is kept after it was last written.",
)
@click.option(
    "--terminated-pod-gc-threshold",
    type=int,
    default=DEFAULT_TERMINATED_PODS,
    show_default=True,
    metavar="NUMBER",
    help="How many pods are kept that have ended. Any number if it is not above 0.",
)
@click.option(
    "--node-monitor-grace-period",
    type=Duration(),
    default="50s",
    show_default=True,
    metavar="TIME",
    help="Without a sign of life for how long a node counts as unreachable.",
)
@click.option(
    "--node-startup-grace-period",
    type=Duration(),
    default="60s",
    show_default=True,
    metavar="TIME",
    help="The same for a node that has never said how it is.",
)
@click.option(
    "--node-eviction-rate",
    type=click.FloatRange(0, 1000),
    default=DEFAULT_EVICTION_RATE,
    show_default=True,
    metavar="NUMBER",
    help="How many unreachable nodes of a zone are given up in a second, at most.",
)
@click.option(
    "--secondary-node-eviction-rate",
    type=click.FloatRange(0, 1000),
    default=DEFAULT_SECONDARY_EVICTION_RATE,
    show_default=True,
    metavar="NUMBER",
    help="The same in a large zone most of which is unreachable. In a small one none is given up then.",
)
@click.option(
    "--large-cluster-size-threshold",
    type=int,
    default=DEFAULT_LARGE_ZONE,
    show_default=True,
    metavar="NUMBER",
    help="A zone with more nodes is large.",
)
@click.option(
    "--unhealthy-zone-threshold",
    type=click.FloatRange(0, 1),
    default=DEFAULT_UNHEALTHY_SHARE,
    show_default=True,
    metavar="SHARE",
    help="Which part of a zone is most of it.",
)
@click.option(
    "--pod-start-delay",
    type=Duration(),
    default="1s",
    show_default=True,
    metavar="TIME",
    help="After which time a pod on a simulated node runs and is ready.",
)
@click.option(
    "--pod-stop-delay",
    type=Duration(),
    default="1s",
    show_default=True,
    metavar="TIME",
    help="How long a pod on a simulated node takes to end when it is deleted, if its grace period is not over before.",
)
@click.option(
    "--webhook-service",
    multiple=True,
    default=DEFAULT_WEBHOOK_SERVICES,
    show_default="none",
    metavar="NAMESPACE/NAME[:PORT]=URL",
    help="Where a Service is that webhooks are behind, as there is no cluster network. May be given more than once.",
)
@click.pass_obj
def serve_command(doors: Doors, /, **given: Any) -> None:
    """Serve the API until SIGTERM or Ctrl-C.

    \b
    probate serve                                 a store in ./probate.db
    probate serve --store memory:                 nothing is kept
    probate serve --store etcd://10.0.0.1:2379    on etcd, for more than one machine
    """
    doors.serve(Settings(**given))
