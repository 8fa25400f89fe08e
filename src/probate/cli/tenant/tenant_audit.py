"""`probate tenant verify`: asks the server to compare the objects of tenants with their index, and shows what differs."""

from __future__ import annotations

import sys

import click
import orjson

from probate.api.objects import Object
from probate.cli import text_table
from probate.cli.server_options import connect, server_options
from probate.cli.tenant.tenant_id import TenantId
from probate.core import errors

AUDIT_PATH = "/debug/tenants"
AUDIT_SECONDS = 70.0
"""How long to wait for the report. The server gives up after 60 seconds."""
CLEAN, FOUND, UNKNOWN = 0, 1, 2
"""The exit codes."""
_HEADER = ("FINDING", "KEY", "MESSAGE")


@click.command("verify")
@click.argument("name", metavar="[ID]", type=TenantId(), required=False)
@click.option("--all", "is_all", is_flag=True, help="Check all tenants, and what is left of those that were deleted.")
@click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="The form of the report."
)
@server_options
def verify_command(name: str | None, *, is_all: bool, output: str, **server: str) -> None:
    """Check that the server knows all objects of a tenant, and that nothing is left of a deleted one.

    Reads the whole store, without the API or a cache, and reads again what seems to be wrong. Changes nothing. The exit code is 0
    if nothing was found, 1 if something was, and 2 if the server could not look.

    \b
    probate tenant verify team-a
    probate tenant verify --all -o json
    """
    if (name is None) is not is_all:
        raise click.UsageError("give the ID of a tenant, or --all")
    try:
        report = connect(**server).get(AUDIT_PATH, {"tenant": name} if name else None, timeout=AUDIT_SECONDS)
    except errors.ProbateError as error:
        click.echo(f"probate: {_explained(error)}", err=True)
        sys.exit(UNKNOWN)
    lines = [orjson.dumps(report, option=orjson.OPT_INDENT_2).decode()] if output == "json" else _lines(report, name)
    for line in lines:
        click.echo(line)
    sys.exit(FOUND if report["findings"] else CLEAN)


def _explained(error: errors.ProbateError) -> str:
    text = " ".join(str(error).split())
    return f"the server has no {AUDIT_PATH}: it is of an earlier version ({text})" if isinstance(error, errors.NotFound) else text


def _lines(report: Object, name: str | None) -> list[str]:
    findings = report["findings"]
    subject = f"tenant {name}" if name else "all tenants"
    read = f"{report['rows']} objects and {report['entries']} index entries at revision {report['revision']}"
    if not findings:
        return [f"{subject}: nothing found in {read}"]
    rows = [(one["finding"], one["key"], one["message"]) for one in findings]
    return [*text_table.format_table([_HEADER, *rows]), f"{subject}: {len(findings)} found in {read}"]
