"""How a process is ready soon: it loads what its first requests need, and the rest when they can be answered.

`begin` comes before all other imports. Until the server is ready nothing is thrown away that would be worth looking for, so Python
does not look; `settle` says that it is ready. What was left for later is loaded from then on (`assembly` has the thread for it).
Who needs some of it before, loads that much on the spot.
"""

from __future__ import annotations

import gc

from probate.core import lazy_import

LATE = (
    "logging.config",
    "probate.controllers.registry",
    "probate.api.audit",
    "probate.lib.cel",
    "probate.api.crds",
    "probate.lib.jsonpatch",
    "probate.lib.mergepatch",
    "probate.api.policies",
    "probate.kinds.protobuf",
    "probate.api.strategic",
    "probate.api.structural",
    "probate.api.printing",
    "probate.kinds",
    "probate.server.audit",
    "probate.server.authn.oidc",
    "probate.server.authn.oidc_tokens",
    "probate.server.authn.issuer_discovery",
    "probate.server.metrics_endpoint",
    "probate.server.ownership_api",
    "probate.server.openapi",
    "probate.server.admission.policies.policy_params",
    "probate.server.admission.policies.cel_variables",
    "probate.server.reviews",
    "probate.server.subresources",
    "probate.http.tls.csr_signing",
    "probate.controllers.simulated_nodes",
    "yaml",
)
"""Modules, and whole packages, that are loaded when they are first used. (tests/e2e/test_startup.py sees that they are.)"""


def begin() -> None:
    """Load late what can be, and look for no garbage."""
    gc.disable()
    lazy_import.begin(LATE)


def settle() -> None:
    """What is loaded by now stays: Python need not look through it for garbage again, nor look that often at all."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()
