"""The TLS contexts by which the server checks other servers: webhooks and issuers of tokens. It trusts what Go's clients trust.

Every certificate of a bundle is an anchor, whether it is a certificate authority or the very certificate of the server that is
asked: tools such as envtest configure webhooks that way. Names are those of the certificate's SAN; its common name does not count.
Text around certificates, other blocks and certificates that cannot be read are ignored, as long as one can be.

This is not for client certificates: there a leaf in the bundle would make its holder the user of that name (`tls/serving`).
"""

from __future__ import annotations

import contextlib
import re
import ssl

_CERTIFICATE = re.compile(r"^-----BEGIN CERTIFICATE-----[ \t]*\r?\n[0-9A-Za-z+/=\s]+?^-----END CERTIFICATE-----", re.MULTILINE)


class NoCertificate(ValueError):
    """A bundle has no certificate that can be read."""


def client_context(bundle: str = "") -> ssl.SSLContext:
    """A context that trusts these certificates, in PEM; without any, those that the system trusts. `NoCertificate`."""
    context = _trusting(bundle) if bundle else ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # Go takes certificates that lack what this would ask for
    context.hostname_checks_common_name = False
    return context


def _trusting(bundle: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for found in _CERTIFICATE.findall(bundle):
        with contextlib.suppress(ssl.SSLError):
            context.load_verify_locations(cadata=found + "\n")
    if not context.cert_store_stats()["x509"]:
        raise NoCertificate("no certificate in PEM was found")
    return context
