"""A session with kubectl, written down: what is typed, and what is to be seen.

    ## a section: a test of its own, in a namespace of its own, for each version of kubectl
    $ get deploy -o name                       a command; `$!` begins one that fails
    deployment.apps/web                        its whole output: stdout, then stderr
    $ EDITOR='sed -i s/a/b/' edit cm c         may begin with variables
    [1.24-1.30] $ alpha events                 only with these versions of kubectl, both included; either may be left out
    [-1.30] pod "p" deleted
    [1.34-] pod "p" deleted from NS namespace
    ...                                        any lines, or none

NS is the namespace; files are in `files`. What differs each time is replaced before the comparison: AGE, TIME, UID, URL and so on.
The width of columns depends on that, so several spaces inside a line count as two.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_CONDITION = re.compile(r"\[(\d+\.\d+)?-(\d+\.\d+)?\] ?(.*)")
_BLURS = (
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"http://127\.0\.0\.1:\d+"), "URL"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}"), "DATE"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UID"),
    (re.compile(r'(resourceVersion"?: ?)"\d+"'), r'\1"REVISION"'),
    (re.compile(r"(Resource Version: +)\d+"), r"\1REVISION"),
    (re.compile(r"\S*/(LIVE|MERGED)-\d+/"), r"\1/"),
    (re.compile(r"(?<![\w.])(\d+[smhdy]){1,2}(?=\s|\)|$)", re.MULTILINE), "AGE"),
    (re.compile(r"\b10\.\d+\.\d+\.\d+\b"), "ADDRESS"),
    (re.compile(r"(?<=\S) {2,}"), "  "),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)


class Step(NamedTuple):
    """A command, and what it prints. `variables` are for its environment."""

    line: str
    words: tuple[str, ...]
    variables: dict[str, str]
    fails: bool
    expected: list[str]


def sections(path: Path) -> list[str]:
    """The titles of all sections."""
    return re.findall(r"^## (.+)$", path.read_text(), re.MULTILINE)


def steps(path: Path, section: str, version: str) -> Iterator[Step]:
    """What is done in a section with this version of kubectl."""
    found: list[Step] = []
    is_skipped = True
    for line in _lines(path, section):
        is_meant, text = _meant(line, version)
        if text.startswith(("$ ", "$! ")):
            is_skipped = not is_meant
            if is_meant:
                found.append(_step(text))
        elif is_meant and not is_skipped:
            found[-1].expected.append(text)
    return iter(found)


def blurred(text: str, namespace: str) -> str:
    """The output without what differs each time."""
    text = text.replace(namespace, "NS")
    for pattern, replacement in _BLURS:
        text = pattern.sub(replacement, text)
    return text.strip("\n")


def matches(expected: str, output: str) -> bool:
    """Whether the output is as expected."""
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else re.escape(line + "\n") for line in expected.split("\n"))
    return re.fullmatch(pattern, output + "\n") is not None


def _lines(path: Path, section: str) -> list[str]:
    _, _, rest = path.read_text().partition(f"## {section}\n")
    return [line for line in rest.partition("\n## ")[0].splitlines() if not line.startswith("# ")]


def _meant(line: str, version: str) -> tuple[bool, str]:
    condition = _CONDITION.fullmatch(line)
    if condition is None:
        return True, line
    lowest, highest, text = condition.groups()
    return _number(lowest or "0.0") <= _number(version) <= _number(highest or "99.0"), text


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _step(text: str) -> Step:
    mark, _, line = text.partition(" ")
    words = shlex.split(line)
    variables = {}
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        variables[name] = value
    return Step(line, tuple(words), variables, mark == "$!", [])
