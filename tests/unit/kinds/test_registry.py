"""The registry of built-in kinds: one row for each kind, in the folder of its group, and every part of every row loads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from probate.kinds import registry
from probate.kinds.builtin import catalog
from probate.kinds.kind import Kind

ROWS = list(registry.every_kind())


def test_each_kind_has_one_row() -> None:
    assert Counter((kind.group, kind.name) for kind in ROWS).most_common(1)[0][1] == 1


def test_each_row_is_in_the_folder_of_its_group() -> None:
    for group, folder in registry.FOLDERS.items():
        rows = [kind for kind in ROWS if kind.group == group]
        assert rows, folder
        assert all(registry.find(group, kind.name) == kind for kind in rows)


def test_each_group_folder_is_registered() -> None:
    folders = {path.parent.name for path in Path(registry.__file__).parent.glob("*/registration.py")}
    assert folders == set(registry.FOLDERS.values())


def test_each_resource_that_is_served_is_found_under_the_name_of_its_kind() -> None:
    names = {(resource.group, resource.plural): resource.kind for resource in catalog.load()}
    for kind in ROWS:
        if (kind.group, kind.plural) in names:
            assert names[kind.group, kind.plural] == kind.name


def test_every_part_of_every_row_loads() -> None:
    for kind in ROWS:
        load(kind)


def load(kind: Kind) -> None:
    kind.strategy()
    parts: list[Callable[[], object] | None] = [kind.defaults, kind.validation, kind.warnings, kind.columns]
    parts += [*kind.defaults_of_version.values(), *kind.conversions.values()]
    for part in parts:
        assert part is None or part() is not None, kind


def test_a_kind_that_is_not_built_in_has_no_row() -> None:
    assert registry.find("stable.example.com", "CronTab") is None
    assert registry.find_plural("", "crontabs") is None
