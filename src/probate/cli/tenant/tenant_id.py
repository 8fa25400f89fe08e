"""The argument ID of the commands about one tenant."""

from __future__ import annotations

import click

from probate.api import tenants


class TenantId(click.ParamType[str]):
    """The id of a tenant."""

    name = "id"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not tenants.is_valid_id(str(value)):
            rule = "It has six characters, a-z, 0-9 and dashes, with no dash at either end, such as team-a"
            self.fail(f"{str(value)[:100]!r} is not the ID of a tenant. {rule}", param, ctx)
        return str(value)


tenant_id = click.argument("name", metavar="ID", type=TenantId())
