"""Options in groups: a click command whose help lists options under headings, and the types of option values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import click

from probate.lib import durations

_BARE_NUMBER = re.compile(r"\s*0*[1-9.][0-9.]*\s*")


class OptionGroup(NamedTuple):
    """Options that the help lists under one heading."""

    title: str
    options: list[click.Option]


class GroupedCommand(click.Command):
    """A command with option groups."""

    def __init__(
        self, name: str | None, *, groups: Sequence[OptionGroup], params: list[click.Parameter] | None = None, **attributes: Any
    ) -> None:
        options = [option for group in groups for option in group.options]
        super().__init__(name, params=[*(params or []), *options], **attributes)
        self.groups = groups

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes one section for each group, and one for `--help`."""
        grouped = {option for group in self.groups for option in group.options}
        others = [param for param in self.get_params(ctx) if param not in grouped]
        for title, params in [*self.groups, OptionGroup("Other", [param for param in others if isinstance(param, click.Option)])]:
            records = [record for param in params if (record := param.get_help_record(ctx)) is not None]
            with formatter.section(title):
                formatter.write_dl(records)


def option(
    flag: str, help_: str, *, metavar: str | None = None, default: Any = "", shown: str | None = None, **kwargs: Any
) -> click.Option:
    """Returns an option. Its help shows the default, or `shown` instead of it."""
    return click.Option([flag], help=help_, metavar=metavar, default=default, show_default=shown or True, **kwargs)


class Duration(click.ParamType[float]):
    """A length of time such as 200ms, 90s, 1h30m or 3d12h."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        seconds = None if _BARE_NUMBER.fullmatch(str(value)) else durations.seconds(str(value))  # no unit
        if seconds is None:
            self.fail(f"{str(value)[:100]!r} is not a duration. Give numbers with units, such as {durations.EXAMPLES}", param, ctx)
        return seconds
