#!/usr/bin/env python3
"""Writes docs/images/cascade.svg, the terminal recording in the README: real commands on a real server, with their real output.

    tools/make-readme-picture.py KUBECTL

Port 8080 must be free: the server runs with its defaults in an empty folder, and `KUBECONFIG` names the file that it writes there.
Run the script with the environment's Python when the output of a command changes. Each line appears when it would in a terminal
(CSS animation); where animations are off, the whole session is visible.
"""

from __future__ import annotations

import html
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

TARGET = Path(__file__).parents[1] / "docs" / "images" / "cascade.svg"
COMMANDS = (
    "kubectl create deployment web --image=nginx --replicas=3",
    "kubectl get deployments,replicasets,pods --no-headers",
    "kubectl delete deployment web --cascade=foreground",
    "kubectl get deployments,replicasets,pods",
)
SERVE = "probate serve --nodes 2"
SETTLE_SECONDS = 3.0
"""How long the simulated nodes take to start the pods: the recording waits between the first two commands."""
FONT_SIZE, LINE_HEIGHT, MARGIN, WIDTH = 14, 20, 18, 860
TYPING_SECONDS, PAUSE_SECONDS = 0.6, 0.9

STYLE = (
    f"text{{font:{FONT_SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre;fill:#d8dee9}}"
    ".c{fill:#fff;font-weight:600}.p{fill:#7fc784}@keyframes a{to{opacity:1}}"
    "@media (prefers-reduced-motion:no-preference){text{opacity:0;animation:a .01s linear forwards}}"
)


class Line(NamedTuple):
    """One line of the terminal and when it appears, in seconds."""

    text: str
    is_command: bool
    at: float


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """Runs a server and yields its first line of output."""
    command = [sys.executable, "-m", *SERVE.split()]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def run(kubectl: str, command: str, folder: Path) -> list[str]:
    """Runs one kubectl command and returns its lines of output."""
    arguments = [kubectl, "--kubeconfig", str(folder / "probate.kubeconfig"), *command.split()[1:]]
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    return [line.rstrip() for line in done.stdout.splitlines()]


def record(kubectl: str) -> list[Line]:
    """Returns the whole session."""
    lines: list[Line] = []
    at = 0.0

    def add(command: str, output: list[str]) -> None:
        nonlocal at
        lines.append(Line(command, is_command=True, at=at))
        at += TYPING_SECONDS
        lines.extend(Line(text, is_command=False, at=at) for text in output)
        at += PAUSE_SECONDS

    with tempfile.TemporaryDirectory() as name, server(Path(name)) as greeting:
        add(SERVE, [greeting.split(" Try:")[0]])
        for command in COMMANDS:
            add(command, run(kubectl, command, Path(name)))
            if command == COMMANDS[0]:
                time.sleep(SETTLE_SECONDS)
    return lines


def draw(lines: list[Line]) -> str:
    """Returns the picture."""
    height = 2 * MARGIN + LINE_HEIGHT * len(lines) + 14
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
            ' role="img" xml:space="preserve">'
        ),
        "<title>A foreground cascade: the Deployment is deleted after its ReplicaSet and Pods</title>",
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#1d2330"/>',
    ]
    for number, line in enumerate(lines):
        y = MARGIN + 14 + number * LINE_HEIGHT
        text = html.escape(line.text)
        body = f'<tspan class="p">$ </tspan><tspan class="c">{text}</tspan>' if line.is_command else text
        parts.append(f'<text x="{MARGIN}" y="{y}" style="animation-delay:{line.at:.1f}s">{body}</text>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(draw(record(sys.argv[1])))
