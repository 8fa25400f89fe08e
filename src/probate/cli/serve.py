"""`probate serve`: runs the API server."""

from __future__ import annotations

from typing import Any

import click

from probate.cli.context import CommandContext
from probate.cli.option_groups import GroupedCommand
from probate.cli.serve_options import authentication, authorization, controllers, network
from probate.settings import Settings

GROUPS = (*network.GROUPS, *authentication.GROUPS, *authorization.GROUPS, *controllers.GROUPS)


@click.command("serve", cls=GroupedCommand, groups=GROUPS)
@click.pass_obj
def serve_command(context: CommandContext, /, **options: Any) -> None:
    """Run the API server until SIGTERM or Ctrl-C.

    \b
    probate serve                                 keep objects in ./probate.db
    probate serve --store memory:                 keep objects in memory only
    probate serve --store etcd://10.0.0.1:2379    keep objects in etcd, which several servers can share

    TIME is a duration such as 200ms, 90s, 1h30m or 3d12h. docs/settings.md explains every option.
    """
    context.serve(Settings(**options))
