"""Makes a process ready quickly: it loads what its first requests need, and everything else once it can answer them.

`begin` runs before all other imports. Until the server is ready almost no object becomes garbage, so Python's garbage collector is
off; `freeze` turns it on when the server is ready. The lazy modules are loaded from then on (`readiness` has the thread for it).
Code that uses one earlier loads it at that moment.
"""

from __future__ import annotations

import gc

from probate.core import lazy_import

LAZY_MODULES = (
    "logging.config",
    "probate.controllers.runtime.leader_election",
    "probate.api.audit",
    "probate.lib.cel",
    "probate.api.crds",
    "probate.lib.jsonpatch",
    "probate.lib.mergepatch",
    "probate.api.policies",
    "probate.kinds.protobuf",
    "probate.api.strategic",
    "probate.api.structural",
    "probate.api.printers",
    "probate.kinds",
    "probate.server.audit",
    "probate.server.authn.oidc",
    "probate.server.authn.oidc_tokens",
    "probate.server.authn.issuer_discovery",
    "probate.server.diagnostics.metrics_endpoint",
    "probate.server.ownership_api",
    "probate.server.openapi",
    "probate.server.admission.policies.policy_params",
    "probate.server.admission.policies.cel_variables",
    "probate.server.reviews",
    "probate.server.subresources",
    "probate.http.tls.csr_signer",
    "probate.controllers.simulated_nodes",
    "probate.tenants.admission.other_chain",
    "probate.tenants.admission.other_view",
    "probate.tenants.admission.platform_admission",
    "probate.tenants.admission.unchanged_fields",
    "probate.tenants.admission.viewed_write",
    "probate.tenants.context_factory",
    "probate.tenants.identity",
    "probate.tenants.ownership.audit",
    "probate.tenants.ownership.erasure",
    "probate.tenants.ownership.findings",
    "probate.tenants.running_context",
    "probate.tenants.store_view",
    "probate.tenants.tenant_catalog",
    "probate.tenants.tenant_tokens",
    "probate.tenants.view",
    "yaml",
)
"""Modules and packages that are loaded at their first use. (tests/e2e/test_startup.py checks that a start loads none of them.)"""


def begin() -> None:
    """Makes modules lazy and turns the garbage collector off."""
    gc.disable()
    lazy_import.install(LAZY_MODULES)


def freeze() -> None:
    """Exempts all objects that exist by now from garbage collection, makes collections rarer, and turns them on."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()
