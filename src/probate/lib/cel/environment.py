"""The variables and functions that an expression can use, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from probate.lib.cel.functions import Library
from probate.lib.cel.types import Type


class Environment(NamedTuple):
    """The variables, functions and struct types of an expression.

    An evaluation passes the variables in this order. `structs` are the types that an expression can construct: `Object.spec{...}`.
    """

    variables: Mapping[str, Type]
    library: Library
    structs: Mapping[str, Type] = {}
