"""Which of the controllers run, as the setting `controllers` says it.

all                 every one
none                none: the server only keeps what it is told
jobs,collector      these
all,-jobs           all but this one
-jobs               the same
"""

from __future__ import annotations

from collections.abc import Iterable

from probate.core import errors


def chosen(text: str, names: Iterable[str]) -> list[str]:
    """The names that are meant, in their own order. `CannotOpen` if the text says something else."""
    known = list(names)
    words = [word.strip() for word in text.split(",")]
    found = set(known) if words[0] == "all" or words[0].startswith("-") else set()
    for at, word in enumerate(words):
        if at == 0 and word in {"all", "none"}:
            continue
        name = word.removeprefix("-")
        if name not in known:
            raise errors.CannotOpen(
                f"{word!r} is no controller. Give all, none, or names of {', '.join(known)}; -NAME leaves one out"
            )
        if word.startswith("-"):
            found.discard(name)
        else:
            found.add(name)
    return [name for name in known if name in found]
