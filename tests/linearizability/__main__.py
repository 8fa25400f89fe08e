"""Checks a saved history again: `python -m linearizability HISTORY.json`."""

from __future__ import annotations

import sys
from pathlib import Path

from linearizability import history_checks, watch_checks
from linearizability.history import load


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    history = load(Path(sys.argv[1]))
    found = history_checks.problems(history)
    if found:
        print(history_checks.report(history, found))
        return 1
    print(f"{len(history.operations)} operations are linearizable; events came within {watch_checks.lateness(history):.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
