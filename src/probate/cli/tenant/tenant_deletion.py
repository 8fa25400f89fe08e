"""`probate tenant delete`: deletes a tenant, and waits until the server says that it is gone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from probate.api.objects import Object
from probate.cli.context import CommandContext
from probate.cli.option_groups import Duration
from probate.cli.server_options import connect, server_options
from probate.cli.tenant.deletion_progress import DeletionProgress, remaining_objects, waiting_text
from probate.cli.tenant.tenant_id import tenant_id
from probate.cli.tenant.tenant_states import GONE, TENANTS, TenantStates, find_tenant, no_such_tenant
from probate.core import errors

if TYPE_CHECKING:
    from probate.client.http_client import HttpClient

SERVER_FAULT = 500
"""The first code of the errors after which a request may have been processed."""


@click.command("delete")
@tenant_id
@click.option("--wait", is_flag=True, help="Wait until the tenant and all of its objects are gone.")
@click.option("--timeout", type=Duration(), default="10m", show_default=True, help="How long to wait.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@server_options
@click.pass_obj
def delete_command(context: CommandContext, /, name: str, timeout: float, *, wait: bool, yes: bool, **server: str) -> None:
    """Delete a tenant with all of its objects.

    From then on nothing can be created in the tenant, and its objects are deleted. An object with a finalizer stays until the
    finalizer is removed; the tenant's users can still do that. The tenant is gone when nothing is left of it, and with --wait the
    command ends then. If it ends before, the exit code is 1, and the deletion goes on.

    \b
    probate tenant delete team-a --wait
    probate tenant delete team-a --yes --wait --timeout 1h
    """
    client = connect(**server)
    tenant = find_tenant(client, name)
    if tenant is None:
        raise no_such_tenant(name)
    _confirm(tenant, is_confirmed=yes)
    is_deleting = _begin_deletion(client, tenant, is_retried=wait)
    if not wait:
        click.echo(f"tenant {name} is being deleted")
        return
    try:
        with DeletionProgress(name, context.clock) as progress:
            _wait_until_gone(client, context, tenant, progress=progress, seconds=timeout, is_deleting=is_deleting)
    except KeyboardInterrupt:
        click.echo(f"the deletion of the tenant {name} goes on", err=True)
        raise
    click.echo(f"tenant {name} deleted")


def _confirm(tenant: Object, *, is_confirmed: bool) -> None:
    name = tenant["metadata"]["name"]
    if is_confirmed or "deletionTimestamp" in tenant["metadata"]:
        return
    if not sys.stdin.isatty():
        raise errors.CannotOpen(f"the deletion of the tenant {name} with all of its objects was not confirmed. Give --yes")
    click.confirm(f"Delete the tenant {name} with all of its objects?", abort=True, err=True)


def _begin_deletion(client: HttpClient, tenant: Object, *, is_retried: bool) -> bool:
    """Deletes the Tenant. Returns False if it is not known whether the server did so, and the caller tries again."""
    meta = tenant["metadata"]
    try:
        client.delete(TENANTS.path("", meta["name"]), {"preconditions": {"uid": meta["uid"]}})
    except errors.ApiError as error:
        if not is_retried or error.code < SERVER_FAULT:
            raise
        return False
    return True


def _wait_until_gone(
    client: HttpClient, context: CommandContext, tenant: Object, *, progress: DeletionProgress, seconds: float, is_deleting: bool
) -> None:
    name, problem = tenant["metadata"]["name"], "its state is not known"
    for state in TenantStates(client, name, context.clock, uid=tenant["metadata"]["uid"], seconds=seconds):
        if state is GONE:
            return
        if isinstance(state, errors.ApiError):
            problem = str(state)
            progress.show_error(state)
            continue
        problem = _what_is_left(state)
        progress.show(state)
        if not is_deleting and "deletionTimestamp" not in state["metadata"]:
            is_deleting = _begin_deletion(client, state, is_retried=True)
    raise errors.CannotOpen(
        f"the tenant {name} is not gone after {seconds:g} s: {problem}. The deletion goes on; run the command again to wait longer"
    )


def _what_is_left(tenant: Object) -> str:
    left, waiting_for = remaining_objects(tenant), waiting_text(tenant)
    counts = "its objects are not counted yet" if left is None else f"{left} {'object is' if left == 1 else 'objects are'} left"
    return f"{counts}, waiting for {waiting_for}" if waiting_for else counts
