"""`probate store check`: reads a whole store and lists what is damaged."""

from __future__ import annotations

import sys

import click

from probate.cli import text_table
from probate.cli.context import CommandContext, StoreCheck
from probate.settings import DEFAULT_STORE

_HEADER = ("RESOURCE", "NAMESPACE", "NAME", "REVISION", "PROBLEM")


@click.group("store")
def store_group() -> None:
    """Inspect a store."""


@store_group.command("check")
@click.option(
    "--store",
    default=DEFAULT_STORE,
    show_default=True,
    metavar="ADDRESS",
    help="The store to check: sqlite:FILE or etcd://HOST:PORT,HOST:PORT.",
)
@click.pass_obj
def check_command(context: CommandContext, /, store: str) -> None:
    """Read a whole store and list its damaged objects.

    Changes nothing; a server may use the store at the same time. The exit code is 0 if nothing is damaged, and 1 if anything is
    damaged or the store cannot be read.
    """
    check = context.check_store(store)
    for line in _lines(check):
        click.echo(line)
    sys.exit(0 if check.is_healthy else 1)


def _lines(check: StoreCheck) -> list[str]:
    lines = [f"note: {note}" for note in check.notes]
    lines += [f"problem: {problem}" for problem in check.problems]
    if check.damaged:
        rows = [(row.resource, row.namespace, row.name, str(row.revision), row.problem) for row in check.damaged]
        lines += text_table.format_table([_HEADER, *rows])
    verdict = "all is well" if check.is_healthy else f"{len(check.damaged)} damaged, {len(check.problems)} other problems"
    return [*lines, f"{check.objects} objects and {check.history} earlier versions read: {verdict}"]
