"""The options with which a command finds its server, `--kubeconfig` and `--context`, and the client that they lead to."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from probate.client.http_client import HttpClient

Command = TypeVar("Command", bound=Callable[..., Any])

_KUBECONFIG = click.option(
    "--kubeconfig",
    default="",
    metavar="FILE",
    show_default="$KUBECONFIG, ./probate.kubeconfig or ~/.kube/config",
    help="The kubeconfig of the server's administrator.",
)
_CONTEXT = click.option(
    "--context", "context_name", default="", metavar="NAME", show_default="the current one", help="Its context."
)


def server_options(command: Command) -> Command:
    """Adds the options to a command, which gets them as `kubeconfig` and `context_name`."""
    return _KUBECONFIG(_CONTEXT(command))


def connect(kubeconfig: str, context_name: str) -> HttpClient:
    """Returns a client of the server. Raises `CannotOpen` if the kubeconfig does not lead to one."""
    from probate.client import http_client, http_kubeconfig  # noqa: PLC0415 loaded only by commands that talk to a server

    files = http_kubeconfig.find_files(kubeconfig, os.environ)
    return http_client.HttpClient(http_kubeconfig.read_access(files, context_name))
