"""`probate token`: creates a token for a user, and the line for `--token-file`."""

from __future__ import annotations

import csv
import hashlib
import io
import secrets

import click


@click.command("token")
@click.argument("user")
@click.option("--group", "groups", multiple=True, show_default="none", metavar="NAME", help="A group of the user; repeatable.")
@click.option(
    "--uid", default="", show_default="none", metavar="UID", help="The user's uid, which distinguishes users of the same name."
)
def token_command(user: str, groups: tuple[str, ...], uid: str) -> None:
    """Create a bearer token for USER.

    Prints the token to standard error and its line for the token file, which contains only a hash, to standard output. The token is
    not stored and cannot be shown again.

    \b
    probate token ann --group staff >> tokens.csv     show the token and add its line to the file
    probate serve --token-file tokens.csv             accept it
    """
    token = secrets.token_urlsafe(32)
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow([hashlib.sha256(token.encode()).hexdigest(), user, uid, ",".join(groups)])
    click.echo(line.getvalue(), nl=False)
    click.echo(token, err=True)
