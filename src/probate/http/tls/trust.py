"""TLS contexts for the server's connections to other servers: webhooks and OIDC issuers. They trust what Go's TLS clients trust.

Every certificate of a bundle is a trust anchor, whether it is a certificate authority or the certificate of the server itself:
tools such as envtest configure webhooks that way. Host names are matched against the certificate's SAN, never its common name. Text
around certificates, other PEM blocks and certificates that cannot be parsed are ignored, as long as one certificate can be parsed.

Do not use these for client certificates: a leaf in the bundle would make its holder the user of that name (`server_context`).
"""

from __future__ import annotations

import contextlib
import re
import ssl

_CERTIFICATE = re.compile(r"^-----BEGIN CERTIFICATE-----[ \t]*\r?\n[0-9A-Za-z+/=\s]+?^-----END CERTIFICATE-----", re.MULTILINE)


class NoCertificate(ValueError):
    """A bundle has no certificate that can be parsed."""


def client_context(bundle: str = "") -> ssl.SSLContext:
    """Returns a context that trusts these certificates (PEM), or those of the system if empty. Raises `NoCertificate`."""
    context = _context_with(bundle) if bundle else ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # Go accepts certificates that this flag would refuse
    context.hostname_checks_common_name = False
    return context


def _context_with(bundle: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for certificate in _CERTIFICATE.findall(bundle):
        with contextlib.suppress(ssl.SSLError):
            context.load_verify_locations(cadata=certificate + "\n")
    if not context.cert_store_stats()["x509"]:
        raise NoCertificate("no certificate in PEM was found")
    return context
