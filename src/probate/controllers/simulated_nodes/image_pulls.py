"""Images that cannot be pulled. There is no registry, so a pod says so, or the name of the image does: a registry or a name that
nobody could have meant to be there.
"""

from __future__ import annotations

import re

from probate.client.objects import Object
from probate.controllers.simulated_nodes import annotations as simulated_node_annotations

ABSENT = re.compile(r"non-?existent|^invalid\.|^[^/]*\.invalid(:\d+)?/|:404$")
"""Names of images that say of themselves that there is nothing: `:404`, `nonexistent`, and registries that are `invalid`, which no
host is ever called (RFC 6761)."""


def lacking(pod: Object) -> frozenset[str]:
    """The images of the pod that cannot be pulled."""
    spec = pod["spec"]
    named = (
        one.get("image") or "" for part in ("initContainers", "containers", "ephemeralContainers") for one in spec.get(part) or ()
    )
    if simulated_node_annotations.told(pod, simulated_node_annotations.PULL) == "false":
        return frozenset(named)
    return frozenset(image for image in named if ABSENT.search(image))
