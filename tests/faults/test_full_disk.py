"""A disk that becomes full: writes fail with a clear error, reads go on, and writes go on once there is space."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("full_disk.py")


def test_writes_fail_clearly_on_a_full_disk_and_resume_when_there_is_space(tmp_path: Path) -> None:
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    inside = 'mount -t tmpfs -o size=4m tmpfs "$1" && exec "$2" "$3" "$1"'
    command = [*unshare, "sh", "-c", inside, "sh", str(tmp_path), sys.executable, str(SCRIPT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "then went on" in done.stdout
