"""Changes the settings `--owner-rights` and `--owner-checks` of a server that runs."""

from __future__ import annotations

from probate.server.authz.owner_checks import OwnerChecks
from probate.server.objects.owner_reference_warnings import CheckMode
from support.in_process_server import InProcessServer


def set_owner_permissions(server: InProcessServer, mode: OwnerChecks) -> None:
    checks = server.api.write_checks
    checks.blocking.mode = checks.metadata.mode = mode


def set_owner_warnings(server: InProcessServer, mode: CheckMode) -> None:
    server.api.write_checks.warnings.mode = mode
