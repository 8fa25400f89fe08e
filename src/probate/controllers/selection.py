"""Which controllers run, as the setting `controllers` says it.

    all, or *                  every controller that is on by default; another one runs if it is named: all,NAME
    none                       no controller: the server only stores objects
    job-controller,kube-scheduler   these two
    all,-job-controller        all but this one
    -job-controller            the same

Names of earlier versions (`jobs`, `collector`) are accepted too: `registry` has them as aliases.
"""

from __future__ import annotations

from probate.controllers import registry
from probate.core import errors

_EVERY = frozenset({"all", "*"})


def select(text: str) -> list[str]:
    """Returns the names of the selected controllers, in the order of the table. `CannotOpen` if the text names an unknown one."""
    words = [word.strip() for word in text.split(",")]
    selected = set(registry.DEFAULT_NAMES) if words[0] in _EVERY or words[0].startswith("-") else set()
    for position, word in enumerate(words):
        if position == 0 and word in {*_EVERY, "none"}:
            continue
        name = _name(word)
        if word.startswith("-"):
            selected.discard(name)
        else:
            selected.add(name)
    return [name for name in registry.NAMES if name in selected]


def _name(word: str) -> str:
    row = registry.find(word.removeprefix("-"))
    if row is None:
        names = ", ".join(registry.NAMES)
        raise errors.CannotOpen(f"{word!r} is not a controller. Give all, none, or names of {names}; -NAME excludes one")
    return row.name
