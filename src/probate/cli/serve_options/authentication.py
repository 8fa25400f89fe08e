"""Options of the group TLS and authentication."""

from __future__ import annotations

from probate.cli.option_groups import OptionGroup, option
from probate.settings import DEFAULT_ISSUER, DEFAULT_PKI

TLS = [
    option(
        "--insecure",
        "Serve plain HTTP on loopback addresses, and allow every request without authentication.",
        default=False,
        shown="off",
        is_flag=True,
    ),
    option(
        "--pki",
        "The folder for the certificates and keys that the server issues for itself.",
        metavar="FOLDER",
        default=DEFAULT_PKI,
    ),
    option(
        "--tls-name",
        "An additional DNS name or IP address for the server's certificate; repeatable.",
        metavar="NAME",
        default=None,
        shown="none",
        multiple=True,
    ),
    option(
        "--tls-cert-file",
        "The server's certificate with its chain (PEM), if the server does not issue its own.",
        metavar="FILE",
        shown="its own",
    ),
    option(
        "--tls-private-key-file",
        "The private key of --tls-cert-file (PEM).",
        metavar="FILE",
        shown="its own",
    ),
    option(
        "--root-ca-file",
        "The CA certificate (PEM) with which pods verify the server.",
        metavar="FILE",
        shown="its own",
    ),
    option(
        "--client-ca-file",
        "Additional CA certificates (PEM) that may sign client certificates.",
        metavar="FILE",
        shown="none",
    ),
    option(
        "--token-file",
        "The file of hashed bearer tokens, as `probate token` writes it.",
        metavar="FILE",
        shown="none",
    ),
]

TOKENS = [
    option(
        "--service-account-issuer",
        "The issuer, and the default audience, of service account tokens.",
        metavar="URL",
        default=DEFAULT_ISSUER,
    ),
    option(
        "--service-account-jwks-uri",
        "The URL of the token verification keys in the issuer's discovery document.",
        metavar="URL",
        shown="this server",
    ),
    option(
        "--oidc-issuer-url",
        "The OpenID Connect issuer whose ID tokens are accepted.",
        metavar="URL",
        shown="none",
    ),
    option(
        "--oidc-client-id",
        "The audience that ID tokens must have.",
        metavar="NAME",
        shown="none",
    ),
    option(
        "--oidc-username-claim",
        "The ID token claim with the user name.",
        metavar="NAME",
        default="sub",
    ),
    option(
        "--oidc-username-prefix",
        'The prefix of user names from ID tokens; "-" for none.',
        metavar="TEXT",
        shown="the issuer and #",
    ),
    option(
        "--oidc-groups-claim",
        "The ID token claim with the user's groups.",
        metavar="NAME",
        shown="none",
    ),
    option(
        "--oidc-groups-prefix",
        "The prefix of groups from ID tokens.",
        metavar="TEXT",
        shown="none",
    ),
    option(
        "--oidc-ca-file",
        "The CA certificates (PEM) that verify the issuer's server.",
        metavar="FILE",
        shown="those of the system",
    ),
]

GROUPS = (OptionGroup("TLS and authentication", [*TLS, *TOKENS]),)
