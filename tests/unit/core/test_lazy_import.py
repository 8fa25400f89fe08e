"""Late modules: loaded when somebody looks into them, once, whoever looks."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from types import ModuleType

import pytest

from probate.core import lazy_import

STEPS: list[str] = []
"""What the modules of these tests have done: they write it down themselves."""
BEGUN, GATE = threading.Event(), threading.Event()


class Folder:
    """Where a test writes its modules, which are late."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, name: str, text: str) -> None:
        file = self._path / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"from sys import modules\nsteps = modules[{__name__!r}].STEPS\nsteps.append({name!r})\n{text}\n")

    def bring(self, name: str) -> ModuleType:
        importlib.invalidate_caches()
        return importlib.import_module(name)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Folder]:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    before = {*sys.modules}
    lazy_import.begin({"lately"})
    STEPS.clear()
    BEGUN.clear()
    GATE.clear()
    yield Folder(tmp_path)
    for name in {*sys.modules} - before:
        del sys.modules[name]


def test_it_is_loaded_when_it_is_first_looked_into_and_once(folder: Folder) -> None:
    folder.write("lately", "A = 1")
    module = folder.bring("lately")
    assert STEPS == []
    assert (module.A, module.A) == (1, 1)
    assert STEPS == ["lately"]
    assert type(module) is ModuleType


def test_a_name_that_it_has_not_is_missing_as_ever(folder: Folder) -> None:
    folder.write("lately", "A = 1")
    with pytest.raises(AttributeError, match="no attribute 'B'"):
        _ = folder.bring("lately").B


def test_others_are_loaded_at_once(folder: Folder) -> None:
    folder.write("early", "import lately")
    folder.write("lately", "A = 1")
    folder.bring("early")
    assert STEPS == ["early"]


@pytest.mark.parametrize("line", ["from lately import A", "from lately import *", "import lately; A = lately.A"])
def test_it_is_there_however_it_is_imported(folder: Folder, line: str) -> None:
    folder.write("lately", "A = 1")
    folder.write("early", line)
    assert folder.bring("early").A == 1


def test_what_is_in_a_late_package_is_late_and_does_not_load_it(folder: Folder) -> None:
    folder.write("lately/__init__", "A = 1")
    folder.write("lately/inner", "B = 2")
    inner = folder.bring("lately.inner")
    assert STEPS == []
    assert inner.B == 2
    assert STEPS == ["lately/inner"]
    assert sys.modules["lately"].A == 1


def test_one_that_cannot_be_loaded_says_so_to_everybody_who_looks(folder: Folder) -> None:
    folder.write("lately", "A = 1 / 0")
    module = folder.bring("lately")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            _ = module.A


def test_a_thread_that_looks_while_another_loads_waits_and_sees_all_of_it(folder: Folder) -> None:
    this = f"modules[{__name__!r}]"
    folder.write("lately", f"A = 1\n{this}.BEGUN.set()\n{this}.GATE.wait(10)\nB = A + 1")
    module = folder.bring("lately")
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(lambda: module.B)
        assert BEGUN.wait(10)
        second = pool.submit(lambda: module.B)
        wait([second], timeout=0.1)  # it would be over by now, if it did not wait
        GATE.set()
        assert (first.result(10), second.result(10)) == (2, 2)
    assert STEPS == ["lately"]


def test_all_that_is_left_is_loaded_in_one_go_with_what_it_imports(folder: Folder) -> None:
    folder.write("lately/__init__", "")
    folder.write("lately/one", "from lately import two")
    folder.write("lately/two", "A = 1")
    folder.bring("lately.one")
    lazy_import.load()
    assert sorted(STEPS) == ["lately/__init__", "lately/one", "lately/two"]


def test_nothing_is_loaded_any_more_when_it_is_over(folder: Folder) -> None:
    folder.write("lately", "")
    folder.bring("lately")
    lazy_import.load(lambda: True)
    assert STEPS == []
