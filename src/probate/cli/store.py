"""`probate store check`: reads all of a store and lists what is damaged."""

from __future__ import annotations

import sys

import click

from probate.cli.context import Doors, StoreCheck
from probate.settings import DEFAULT_STORE

_HEADER = ("RESOURCE", "NAMESPACE", "NAME", "REVISION", "PROBLEM")


@click.group("store")
def store_group() -> None:
    """Inspect a store."""


@store_group.command("check")
@click.option("--store", default=DEFAULT_STORE, show_default=True, metavar="ADDRESS", help="sqlite:FILE or etcd://HOST:PORT,…")
@click.pass_obj
def check_command(doors: Doors, /, store: str) -> None:
    """Read all of a store, and list the objects whose stored data is damaged. Changes nothing.

    The exit code is 0 if all is well, and 1 if anything is damaged or the store cannot be read. A server may have the store open.
    """
    found = doors.check_store(store)
    for line in _lines(found):
        click.echo(line)
    sys.exit(0 if found.is_well else 1)


def _lines(found: StoreCheck) -> list[str]:
    lines = [f"note: {one}" for one in found.notes]
    lines += [f"problem: {one}" for one in found.problems]
    if found.rows:
        lines += _table([_HEADER, *((one.resource, one.namespace, one.name, str(one.revision), one.problem) for one in found.rows)])
    verdict = "all is well" if found.is_well else f"{len(found.rows)} damaged, {len(found.problems)} other problems"
    return [*lines, f"{found.objects} objects and {found.history} earlier versions read: {verdict}"]


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
