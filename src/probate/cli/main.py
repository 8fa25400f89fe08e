"""The command `probate` and how its failures are shown: one line that says what to do, and exit code 1."""

from __future__ import annotations

import sys

import click

from probate import __version__
from probate.cli.context import Doors
from probate.cli.serve import serve_command
from probate.cli.store import store_group
from probate.cli.token import token_command
from probate.core import errors


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="probate")
def probate() -> None:
    """A Kubernetes-compatible API server with complete garbage collection, in one process.

    Start with: probate serve
    """


probate.add_command(serve_command)
probate.add_command(token_command)
probate.add_command(store_group)


def run(doors: Doors) -> None:
    """Run the command line. What a command does to a process is given from outside: commands know no engine."""
    try:
        probate(prog_name="probate", obj=doors)
    except errors.ProbateError as error:
        click.echo(f"probate: {' '.join(str(error).split())}", err=True)  # one line, whatever a library says
        sys.exit(1)
