#!/usr/bin/env python3
"""Searches files for keys and tokens: `find-secrets.py [FILE...]`; without a file, all files that git tracks.

Tests generate the credentials that they need when they run. So any text that looks like a key or a token may be a real one.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PATTERNS = {
    "a private key": re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----\s+[A-Za-z0-9+/=]{20}"),
    "a private key in base64": re.compile(rb"LS0tLS1CRUdJTi[A-Za-z0-9+/]{0,12}(?:UFJJVkFURSBLRVk|QUklWQVRFIEtFW|BSSVZBVEUgS0VZ)"),
    "a signed token": re.compile(rb"eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{20,}"),
    "a bearer's token": re.compile(rb"[Bb]earer [A-Za-z0-9+/_-]{32,}"),
    "a token of a forge or a cloud": re.compile(
        rb"\b(?:gh[opsu]_\w{30,}|github_pat_\w{30,}|glpat-[\w-]{20,}|AKIA[0-9A-Z]{16}|xox[abp]-[\w-]{20,})"
    ),
    "a password in a URL": re.compile(rb"\b(?:https?|postgres|redis)://[\w.%-]+:[^\s@/{}\"'<>]{6,}@"),
}


class Found(NamedTuple):
    """Where something is, and what it looks like. (Not what it is: that would be another place where it is.)"""

    file: Path
    line: int
    what: str


def found_in(files: Iterable[Path]) -> Iterator[Found]:
    """All that looks like a secret."""
    for file in files:
        content = file.read_bytes()
        for what, pattern in PATTERNS.items():
            for match in pattern.finditer(content):
                yield Found(file, content.count(b"\n", 0, match.start()) + 1, what)


def tracked() -> list[Path]:
    """All files that git has here."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [path for name in listed.decode().split("\0") if name and (path := ROOT / name).is_file()]


if __name__ == "__main__":
    told = [f"{one.file}:{one.line}: {one.what}" for one in found_in([Path(name) for name in sys.argv[1:]] or tracked())]
    sys.exit("\n".join(told) or 0)
