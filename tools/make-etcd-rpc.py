"""Generates the message classes of the etcd engine from rpc.proto: rpc_pb2.py and rpc_pb2.pyi, which are checked in.

With --check it writes nothing, and the exit code tells whether the checked-in files are up to date.

The generator stamps its version into the code, which makes the code reject any older protobuf. These messages use no new features,
so this tool removes the stamp, and one checked-in file works with every protobuf that pyproject.toml allows.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from grpc_tools import protoc  # type: ignore[import-untyped]

SOURCES = Path(__file__).resolve().parent.parent / "src"
PACKAGE = Path("probate", "store", "etcd", "rpc")
FOLDER = SOURCES / PACKAGE
OUTPUTS = ("rpc_pb2.py", "rpc_pb2.pyi")

_STAMPS = re.compile(
    r"^# Protobuf Python Version:.*\n"
    r"|^from google\.protobuf import runtime_version as .*\n"
    r"|^_runtime_version\.ValidateProtobufRuntimeVersion\((?:\n .*)*\n\)\n",
    re.MULTILINE,
)

_BARE_MAPPING = re.compile(r"\b_Mapping\]")
"""The generator omits the type parameters of mappings, which strict type checks require."""


def generate() -> dict[str, str]:
    """Returns the text of each output file."""
    with tempfile.TemporaryDirectory() as scratch:
        failed = protoc.main(
            ["protoc", f"-I{SOURCES}", f"--python_out={scratch}", f"--pyi_out={scratch}", str(PACKAGE / "rpc.proto")]
        )
        if failed:
            sys.exit("make-etcd-rpc: rpc.proto cannot be compiled")
        return {name: _finish((Path(scratch) / PACKAGE / name).read_text()) for name in OUTPUTS}


def _finish(text: str) -> str:
    return _BARE_MAPPING.sub("_Mapping[str, object]]", _STAMPS.sub("", text))


def main(arguments: list[str]) -> None:
    """Writes the output files, or with --check compares them with the existing ones."""
    generated = generate()
    if arguments == ["--check"]:
        stale = [name for name, text in generated.items() if not (FOLDER / name).exists() or (FOLDER / name).read_text() != text]
        if stale:
            sys.exit(f"make-etcd-rpc: {', '.join(stale)} is out of date. Run tools/make-etcd-rpc.py")
        return
    for name, text in generated.items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
