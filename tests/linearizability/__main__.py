"""Checks a saved history again: `python -m linearizability HISTORY.json`."""

from __future__ import annotations

import sys
from pathlib import Path

from linearizability import verdict, watches
from linearizability.history import load


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    history = load(Path(sys.argv[1]))
    found = verdict.problems(history)
    if found:
        print(verdict.report(history, found))
        return 1
    print(f"{len(history.operations)} operations are linearizable; events came within {watches.lateness(history):.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
