"""How a process is ready soon: it loads what its first requests need, and the rest when they can be answered.

`begin` comes before all other imports. Until the server is ready nothing is thrown away that would be worth looking for, so Python
does not look; `settle` says that it is ready. What was left for later is loaded from then on (`assembly` has the thread for it).
Who needs some of it before, loads that much on the spot.
"""

from __future__ import annotations

import gc

from probate import late

LATE = (
    "logging.config",
    "probate.crew",
    "probate.machinery.audit",
    "probate.machinery.cel",
    "probate.machinery.crds",
    "probate.machinery.jsonpatch",
    "probate.machinery.mergepatch",
    "probate.machinery.policies",
    "probate.machinery.protobuf",
    "probate.machinery.strategic",
    "probate.machinery.structural",
    "probate.machinery.tables",
    "probate.machinery.validation",
    "probate.machinery.warnings",
    "probate.server.audit",
    "probate.server.authentication.oidc",
    "probate.server.authentication.oidc_tokens",
    "probate.server.authentication.discovery",
    "probate.server.exposition",
    "probate.server.kinship",
    "probate.server.openapi",
    "probate.server.policies.params",
    "probate.server.policies.requests",
    "probate.server.reviews",
    "probate.server.subresources",
    "probate.server.tls.requests",
    "probate.simulation",
    "yaml",
)
"""Modules, and whole packages, that are loaded when they are first used. (tests/e2e/test_starting.py sees that they are.)"""


def begin() -> None:
    """Load late what can be, and look for no garbage."""
    gc.disable()
    late.begin(LATE)


def settle() -> None:
    """What is loaded by now stays: Python need not look through it for garbage again, nor look that often at all."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()
