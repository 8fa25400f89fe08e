"""The functions that expressions may call: CEL's own, its extensions that Kubernetes has, and Kubernetes' own.

docs/cel.md lists them.
"""

from __future__ import annotations

from probate.machinery.cel.functions import Library
from probate.machinery.cel.library import (
    addresses,
    authorization,
    conversions,
    lists,
    maths,
    named_formats,
    networks,
    operators,
    optionals,
    patterns,
    quantities,
    semantic_versions,
    sets,
    strings,
    texts,
    times,
)

STANDARD = Library(
    operators.LIBRARY,
    conversions.LIBRARY,
    strings.LIBRARY,
    times.LIBRARY,
    optionals.LIBRARY,
    texts.LIBRARY,
    lists.LIBRARY,
    sets.LIBRARY,
    maths.LIBRARY,
    patterns.LIBRARY,
    quantities.LIBRARY,
    addresses.LIBRARY,
    networks.LIBRARY,
    named_formats.LIBRARY,
    semantic_versions.LIBRARY,
    authorization.LIBRARY,
)
