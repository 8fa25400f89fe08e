"""The labels and annotations that control simulated nodes and their pods. docs/simulation.md explains them."""

from __future__ import annotations

import re

from probate.api.objects import Object

SIMULATED = "probate.dev/simulated"
"""A label: nodes that have it are simulated."""
SILENT = "probate.dev/silent"
"""On a node: "true" makes it behave as if its machine were off."""
START_DELAY = "probate.dev/start-delay"
STOP_DELAY = "probate.dev/stop-delay"
DURATION = "probate.dev/duration"
EXIT_CODE = "probate.dev/exit-code"
READY = "probate.dev/ready"
PULL = "probate.dev/pull"
HELM_HOOK = "helm.sh/hook"
"""On a pod: helm waits until the pod has ended, as with `helm test`."""


def is_simulated(node: Object) -> bool:
    """Returns whether the node is simulated."""
    return (node["metadata"].get("labels") or {}).get(SIMULATED) == "true"


def is_silent(node: Object) -> bool:
    """Returns whether the node does nothing."""
    return annotation(node, SILENT) == "true"


def annotation(object_: Object, name: str) -> str:
    """Returns the value of an annotation, or an empty string."""
    text: str = (object_["metadata"].get("annotations") or {}).get(name) or ""
    return text


def parse_exit_codes(text: str) -> list[int]:
    """Returns the exit codes, one for each run: `1,1,0` fails twice."""
    words = [word.strip() for word in text.split(",")]
    return [int(word) for word in words if re.fullmatch(r"\d{1,3}", word)]
