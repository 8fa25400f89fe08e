"""The Kubernetes version that this server implements, and its own version: the body of `/version`."""

from __future__ import annotations

import platform

from probate import __version__

KUBERNETES_MAJOR = "1"
KUBERNETES_MINOR = "37"
COMPATIBLE_MINOR = "36"
"""The oldest Kubernetes minor version that this server is compatible with. Where the two differ, it accepts both."""


def version_body() -> dict[str, str]:
    """Returns the body of `/version`, with the fields that Kubernetes clients read."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return {
        "major": KUBERNETES_MAJOR,
        "minor": KUBERNETES_MINOR,
        "emulationMajor": KUBERNETES_MAJOR,
        "emulationMinor": KUBERNETES_MINOR,
        "minCompatibilityMajor": KUBERNETES_MAJOR,
        "minCompatibilityMinor": COMPATIBLE_MINOR,
        "gitVersion": f"v{KUBERNETES_MAJOR}.{KUBERNETES_MINOR}.0+probate-{__version__}",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": f"python {platform.python_version()}",
        "platform": f"{platform.system().lower()}/{machine}",
    }
