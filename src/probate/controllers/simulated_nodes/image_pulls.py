"""Images that cannot be pulled. There is no registry: a pod's annotation decides, or an image name that obviously names no
existing image.
"""

from __future__ import annotations

import re

from probate.api.objects import Object
from probate.controllers.simulated_nodes import simulation_annotations

UNPULLABLE = re.compile(r"non-?existent|^invalid\.|^[^/]*\.invalid(:\d+)?/|:404$")
"""Image names that declare that no image exists: the tag `:404`, `nonexistent`, and registry hosts named `invalid`, a name that
no host ever has (RFC 6761).
"""


def unpullable_images(pod: Object) -> frozenset[str]:
    """Returns the images of the pod that cannot be pulled."""
    spec = pod["spec"]
    images = (
        container.get("image") or ""
        for field in ("initContainers", "containers", "ephemeralContainers")
        for container in spec.get(field) or ()
    )
    if simulation_annotations.annotation(pod, simulation_annotations.PULL) == "false":
        return frozenset(images)
    return frozenset(image for image in images if UNPULLABLE.search(image))
