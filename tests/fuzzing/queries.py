"""What a request may say behind its question mark: selectors, pages, places in history, options of writes and deletes."""

from __future__ import annotations

from random import Random

LABELS = ("a", "b.c/d", "app", "", "a b", "é", "x" * 70, "/", "a/b/c", "-a", "kubernetes.io/metadata.name")
VALUES = ("", "b", "a b", "x" * 64, "é", "-", "1", "b,c", "(", ")", "'", '"')
OPERATORS = ("=", "==", "!=", " in ", " notin ", ">", "<", "=~", "", "!", " exists ")
FIELDS = ("metadata.name", "metadata.namespace", "spec.nodeName", "status.phase", "spec", "a.b", "", ".", "metadata.labels.a")
NUMBERS = ("0", "1", "-1", "500", "999999999999999999999", "x", "", "1.5", "٣", "1e3", " 1")
TRUTHS = ("true", "false", "1", "0", "", "yes", "TRUE", "t")
CHOICES = {
    "limit": NUMBERS,
    "resourceVersion": NUMBERS,
    "resourceVersionMatch": ("Exact", "NotOlderThan", "exact", ""),
    "continue": ("x", "", "e30", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0", "\u0000", "A" * 3000),
    "timeoutSeconds": ("0", "1", "-1", "x", ""),
    "timeout": ("1s", "0", "-1s", "x", "1y"),
    "watch": TRUTHS,
    "allowWatchBookmarks": TRUTHS,
    "sendInitialEvents": TRUTHS,
    "pretty": TRUTHS,
    "dryRun": ("All", "", "all", "None", "All,All"),
    "fieldManager": ("fuzz", "", "x" * 200, "é", "\u0007"),
    "fieldValidation": ("Strict", "Warn", "Ignore", "strict", ""),
    "force": TRUTHS,
    "propagationPolicy": ("Foreground", "Background", "Orphan", "Nonsense", ""),
    "gracePeriodSeconds": NUMBERS,
    "orphanDependents": TRUTHS,
    "nonsense": ("1",),
}


def selector(chance: Random) -> str:
    """A label selector, more or less."""
    several = chance.choice((0, 1, 1, 2, 3, 30, 1_100)) if chance.random() < 0.9 else 1
    return ",".join(_requirement(chance) for _ in range(several))


def _requirement(chance: Random) -> str:
    operator = chance.choice(OPERATORS)
    if operator.strip() in {"in", "notin"}:
        told = ",".join(chance.choice(VALUES) for _ in range(chance.randrange(4)))
        return chance.choice(LABELS) + operator + chance.choice((f"({told})", told, f"({told}", f"(({told}))"))
    return chance.choice(("", "", "!", "! ")) + chance.choice(LABELS) + operator + chance.choice(VALUES)


def fields(chance: Random) -> str:
    """A field selector, more or less."""
    several = chance.choice((0, 1, 1, 2, 40))
    return ",".join(
        chance.choice(FIELDS) + chance.choice(("=", "==", "!=", " in ", "")) + chance.choice(VALUES) for _ in range(several)
    )


def query(chance: Random) -> dict[str, str]:
    """A few options that need not go together."""
    found = {name: chance.choice(CHOICES[name]) for name in chance.sample(list(CHOICES), chance.choice((0, 1, 2, 3)))}
    if chance.random() < 0.5:
        found["labelSelector"] = selector(chance)
    if chance.random() < 0.3:
        found["fieldSelector"] = fields(chance)
    return found
