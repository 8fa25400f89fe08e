"""The group `probate tenant`, and its commands that create, list and give access."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from probate.api import tenants
from probate.api.objects import Object
from probate.cli import text_table
from probate.cli.context import CommandContext
from probate.cli.option_groups import Duration
from probate.cli.server_options import connect, server_options
from probate.cli.tenant.tenant_audit import verify_command
from probate.cli.tenant.tenant_deletion import delete_command
from probate.cli.tenant.tenant_id import tenant_id
from probate.cli.tenant.tenant_states import GONE, TENANTS, TenantStates, no_such_tenant
from probate.core import errors, private_files

if TYPE_CHECKING:
    from probate.client.http_client import HttpClient

_OUTPUT = click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the kubeconfig to this file, which only you may read.",
)


class AdministratorGroup(click.Group):
    """Commands that only the server's administrator can use: for everybody else there are no tenants."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except errors.PathNotFound as error:
            problem = (
                "the server knows no tenants, or not for this user. Give the kubeconfig of its administrator with --kubeconfig"
            )
            raise errors.CannotOpen(f"{problem} ({' '.join(str(error).split())})") from error


@click.group("tenant", cls=AdministratorGroup)
def tenant_group() -> None:
    """Give each team a cluster of its own.

    A tenant has its own namespaces, cluster-scoped objects, custom kinds, roles and users, on a server that it shares with
    others. These commands ask a running server, as its administrator.

    \b
    probate tenant create team-a -o team-a.kubeconfig
    kubectl --kubeconfig team-a.kubeconfig get namespaces
    probate tenant delete team-a --wait
    probate tenant verify team-a                          nothing is left of it
    """


tenant_group.add_command(delete_command)
tenant_group.add_command(verify_command)


@tenant_group.command("create")
@tenant_id
@_OUTPUT
@click.option("--timeout", type=Duration(), default="1m", show_default=True, help="How long to wait until the tenant is Active.")
@server_options
@click.pass_obj
def create_command(context: CommandContext, /, name: str, output: Path | None, *, timeout: float, **server: str) -> None:
    """Create a tenant and wait until it can be used.

    ID has six characters, a-z, 0-9 and dashes, with no dash at either end. It cannot be changed.

    \b
    probate tenant create team-a
    probate tenant create team-a -o team-a.kubeconfig     write a kubeconfig of its user admin, too
    """
    client = connect(**server)
    _create(client, name)
    _wait_until_active(TenantStates(client, name, context.clock, seconds=timeout), name, timeout)
    click.echo(f"tenant {name} created")
    if output is not None:
        _write_kubeconfig(output, _request_kubeconfig(client, name, {}))


def _create(client: HttpClient, name: str) -> None:
    try:
        client.create(TENANTS.path(), {"apiVersion": TENANTS.api_version, "kind": tenants.KIND, "metadata": {"name": name}})
    except errors.AlreadyExists:
        raise errors.CannotOpen(f"the tenant {name} exists already. List the tenants with: probate tenant list") from None


def _wait_until_active(states: TenantStates, name: str, timeout: float) -> None:
    """Returns when the tenant is Active. Raises `CannotOpen` if it is not in time, or is deleted."""
    problem = ""
    for state in states:
        if state is GONE or (not isinstance(state, errors.ApiError) and "deletionTimestamp" in state["metadata"]):
            raise errors.CannotOpen(f"the tenant {name} was deleted before it could be used")
        if isinstance(state, errors.ApiError):
            problem = str(state)
        elif (state.get("status") or {}).get("phase") == "Active":
            return
        else:
            conditions = (state.get("status") or {}).get("conditions") or ()
            problem = next((one["message"] for one in conditions if one["type"] == "Ready"), "")
    problem = problem or "Does the server run the tenant-controller? See its option --controllers"
    raise errors.CannotOpen(f"the tenant {name} was created, but is not Active after {timeout:g} s: {problem}")


@tenant_group.command("list")
@click.option("-o", "--output", type=click.Choice(["wide"]), help="Show all columns.")
@server_options
def list_command(output: str | None, **server: str) -> None:
    """List the tenants, as `kubectl get tenants` does."""
    from probate.client.http_client import TABLE  # noqa: PLC0415 loaded only by commands that talk to a server

    table = connect(**server).get(TENANTS.path(), accept=TABLE)
    if not table["rows"]:
        click.echo("there are no tenants. Create one with: probate tenant create ID", err=True)
        return
    columns = table["columnDefinitions"]
    shown = [index for index, column in enumerate(columns) if output == "wide" or not column.get("priority")]
    rows = [tuple(str(row["cells"][index]) for index in shown) for row in table["rows"]]
    for line in text_table.format_table([tuple(columns[index]["name"].upper() for index in shown), *rows]):
        click.echo(line)


@tenant_group.command("kubeconfig")
@tenant_id
@_OUTPUT
@click.option("--user", default="admin", show_default=True, metavar="NAME", help="The user, as the tenant names it.")
@click.option("--group", "groups", multiple=True, metavar="NAME", help="A group of the user in the tenant; repeatable.")
@click.option(
    "--duration", type=Duration(), default="1h", show_default=True, help="For how long the credentials are valid: 10m to 24h."
)
@server_options
def kubeconfig_command(
    name: str, output: Path | None, *, user: str, groups: tuple[str, ...], duration: float, **server: str
) -> None:
    """Issue credentials for a user of a tenant, as a kubeconfig.

    Prints the kubeconfig, or writes it to a file. The user admin may do everything in the tenant; other users may do what the
    tenant's roles and bindings grant to them and their groups.

    \b
    probate tenant kubeconfig team-a -o team-a.kubeconfig
    probate tenant kubeconfig team-a --user ann --group developers --duration 8h
    """
    spec: Object = {"user": user, "expirationSeconds": int(duration), **({"groups": list(groups)} if groups else {})}
    kubeconfig = _request_kubeconfig(connect(**server), name, spec)
    if output is None:
        click.echo(kubeconfig, nl=not kubeconfig.endswith("\n"))
    else:
        _write_kubeconfig(output, kubeconfig)


def _request_kubeconfig(client: HttpClient, name: str, spec: Object) -> str:
    body = {"apiVersion": TENANTS.api_version, "kind": "TenantKubeconfig", "spec": spec}
    try:
        kubeconfig: str = client.create(TENANTS.path("", name, "kubeconfig"), body)["status"]["kubeconfig"]
    except errors.PathNotFound:
        raise
    except errors.NotFound:
        raise no_such_tenant(name) from None
    return kubeconfig


def _write_kubeconfig(path: Path, kubeconfig: str) -> None:
    try:
        private_files.replace(path, kubeconfig.encode())
    except OSError as error:
        raise errors.CannotOpen(f"the kubeconfig {path} cannot be written: {error.strerror}. Give another file with -o") from error
    click.echo(f"kubeconfig written to {path}", err=True)
