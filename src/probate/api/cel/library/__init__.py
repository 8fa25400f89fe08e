"""The functions that expressions can call: CEL's own, the CEL extensions that Kubernetes enables, and Kubernetes' own.

docs/cel.md lists them.
"""

from __future__ import annotations

from probate.api.cel.library import (
    authorizer,
    ip_addresses,
    lists,
    named_formats,
    quantity_functions,
    regular_expressions,
    semantic_versions,
    urls,
)
from probate.lib.cel.functions import Library
from probate.lib.cel.library import conversions, operators, optionals, sets, string_extensions, strings, times
from probate.lib.cel.library import math as library_math

STANDARD = Library(
    operators.LIBRARY,
    conversions.LIBRARY,
    strings.LIBRARY,
    times.LIBRARY,
    optionals.LIBRARY,
    string_extensions.LIBRARY,
    lists.LIBRARY,
    sets.LIBRARY,
    library_math.LIBRARY,
    regular_expressions.LIBRARY,
    quantity_functions.LIBRARY,
    urls.LIBRARY,
    ip_addresses.LIBRARY,
    named_formats.LIBRARY,
    semantic_versions.LIBRARY,
    authorizer.LIBRARY,
)
