"""What simulated nodes and their pods can be told, by labels and annotations. docs/simulation.md explains them."""

from __future__ import annotations

import re

from probate.client.objects import Object

SIMULATED = "probate.dev/simulated"
"""A label: nodes that have it are simulated."""
SILENT = "probate.dev/silent"
"""On a node: "true" is as if its machine were off."""
START_DELAY = "probate.dev/start-delay"
STOP_DELAY = "probate.dev/stop-delay"
DURATION = "probate.dev/duration"
EXIT_CODE = "probate.dev/exit-code"
READY = "probate.dev/ready"
PULL = "probate.dev/pull"
HOOK = "helm.sh/hook"
"""On a pod: helm waits until it has ended, as with `helm test`."""


def is_simulated(node: Object) -> bool:
    """Whether the node is one of ours."""
    return (node["metadata"].get("labels") or {}).get(SIMULATED) == "true"


def is_silent(node: Object) -> bool:
    """Whether the node is to do nothing."""
    return told(node, SILENT) == "true"


def told(object_: Object, name: str) -> str:
    """What an annotation says; nothing if it is not there."""
    text: str = (object_["metadata"].get("annotations") or {}).get(name) or ""
    return text


def codes(text: str) -> list[int]:
    """Exit codes, one for each run: `1,1,0` fails twice."""
    words = [word.strip() for word in text.split(",")]
    return [int(word) for word in words if re.fullmatch(r"\d{1,3}", word)]
