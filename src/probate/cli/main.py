"""The command `probate`. A failure is shown as one line on standard error that says what to do, with exit code 1."""

from __future__ import annotations

import sys

import click

from probate import __version__
from probate.cli.context import CommandContext
from probate.cli.serve import serve_command
from probate.cli.store import store_group
from probate.cli.tenant.tenant_group import tenant_group
from probate.cli.token import token_command
from probate.core import errors


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="probate")
def probate() -> None:
    """A Kubernetes-compatible API server with complete garbage collection, in one process.

    Run `probate serve` to start a server, and `probate serve --help` to list its options.
    """


probate.add_command(serve_command)
probate.add_command(token_command)
probate.add_command(store_group)
probate.add_command(tenant_group)


def run(context: CommandContext) -> None:
    """Runs the command line."""
    try:
        probate(prog_name="probate", obj=context)
    except errors.ProbateError as error:
        click.echo(f"probate: {' '.join(str(error).split())}", err=True)  # one line, even if a library's message has several
        sys.exit(1)
