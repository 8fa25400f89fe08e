"""A request for a certificate that any signer can read, as objects have it."""

from __future__ import annotations

import base64

PEM = b"""-----BEGIN CERTIFICATE REQUEST-----
MIHIMHACAQAwDjEMMAoGA1UEAwwDYW5uMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcD
QgAE4cERP7GrZF94cLoMSetzG7NGrhjqUU/paf1ImgE6o0jsx56K8BQE7SYPzzB4
Zf8QsMTTYYB2eyFBM+uclqPyW6AAMAoGCCqGSM49BAMCA0gAMEUCIQC+ZVUB7zmS
BgjAaYVHVm+J0l3R9YEUGYbUYV0J5K7oagIgOoM7rApWu6pn7nb7BYzy1+x8Wv9J
A2SLVMCMZBdllE4=
-----END CERTIFICATE REQUEST-----
"""
ENCODED = base64.b64encode(PEM).decode()
SPEC = {"request": ENCODED, "signerName": "example.com/signer", "usages": ["client auth"]}
