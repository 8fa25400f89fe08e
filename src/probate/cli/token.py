"""`probate token`: a new token for a user, and the line for the file that lists it."""

from __future__ import annotations

import csv
import hashlib
import io
import secrets

import click


@click.command("token")
@click.argument("user")
@click.option("--group", "groups", multiple=True, metavar="NAME", help="A group that the user is in. Can be given more than once.")
@click.option("--uid", default="", metavar="UID", help="What tells the user from others of the same name.")
def token_command(user: str, groups: tuple[str, ...], uid: str) -> None:
    """Make a token for USER: shown once, and kept nowhere.

    \b
    probate token ann --group staff >> tokens.csv     the token is shown, its line is added to the file
    probate serve --token-file tokens.csv
    """
    token = secrets.token_urlsafe(32)
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow([hashlib.sha256(token.encode()).hexdigest(), user, uid, ",".join(groups)])
    click.echo(line.getvalue(), nl=False)
    click.echo(token, err=True)
