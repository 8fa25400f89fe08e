"""What an expression may speak of: variables and functions, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from probate.lib.cel.functions import Library
from probate.lib.cel.types import Type


class Environment(NamedTuple):
    """Variables are given to an evaluation in this order. `structs` are types that can be made: `Object.spec{...}`."""

    variables: Mapping[str, Type]
    library: Library
    structs: Mapping[str, Type] = {}
