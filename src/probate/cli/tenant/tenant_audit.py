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
@click.option("--erased", is_flag=True, help="Check that the history of a deleted tenant is gone from the store, too.")
@click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="The form of the report."
)
@server_options
def verify_command(name: str | None, *, is_all: bool, erased: bool, output: str, **server: str) -> None:
    """Check that the server knows all objects of a tenant, and that nothing is left of a deleted one.

    Reads the whole store, without the API or a cache, and reads again what seems to be wrong. Changes nothing. The exit code is 0
    if nothing was found, 1 if something was, and 2 if the server could not look.

    The store keeps former versions of objects for the time of `probate serve --history`. With --erased, the exit code is 0 only if
    no version of anything of the tenant can be read any more, 1 if one can, and 2 if that is not known. Disk blocks that the store
    has freed, copies of the store, backups and logs are not looked at.

    \b
    probate tenant verify team-a
    probate tenant verify team-a --erased
    probate tenant verify --all -o json
    """
    if (name is None) is not is_all:
        raise click.UsageError("give the ID of a tenant, or --all")
    if erased and is_all:
        raise click.UsageError("--erased is about one tenant: give its ID")
    asked = {**({"tenant": name} if name else {}), **({"history": "true"} if erased else {})}
    try:
        report = connect(**server).get(AUDIT_PATH, asked or None, timeout=AUDIT_SECONDS)
    except errors.ProbateError as error:
        click.echo(f"probate: {_explained(error)}", err=True)
        sys.exit(UNKNOWN)
    if erased and "history" not in report:
        click.echo("probate: the server does not know --erased: it is of an earlier version", err=True)
        sys.exit(UNKNOWN)
    lines = [orjson.dumps(report, option=orjson.OPT_INDENT_2).decode()] if output == "json" else _lines(report, name)
    for line in lines:
        click.echo(line)
    sys.exit(_exit_code(report))


def _exit_code(report: Object) -> int:
    is_erased = report.get("history", {}).get("erased", True)
    if report["findings"] or is_erased is False:
        return FOUND
    return UNKNOWN if is_erased is None else CLEAN


def _explained(error: errors.ProbateError) -> str:
    text = " ".join(str(error).split())
    return f"the server has no {AUDIT_PATH}: it is of an earlier version ({text})" if isinstance(error, errors.NotFound) else text


def _lines(report: Object, name: str | None) -> list[str]:
    findings = report["findings"]
    subject = f"tenant {name}" if name else "all tenants"
    read = f"{report['rows']} objects and {report['entries']} index entries at revision {report['revision']}"
    history = [_history_line(subject, report["history"])] if "history" in report else []
    if not findings:
        return [f"{subject}: nothing found in {read}", *history]
    rows = [(one["finding"], one["key"], one["message"]) for one in findings]
    return [*text_table.format_table([_HEADER, *rows]), f"{subject}: {len(findings)} found in {read}", *history]


def _history_line(subject: str, history: Object) -> str:
    state = {True: "erased", False: "not erased"}.get(history["erased"], "not known whether erased")
    return f"{subject}: {state}: {history['message']}"
