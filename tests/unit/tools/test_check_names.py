"""tools/check-names.py: each of its rules refuses a planted violation, and names what to write instead."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "tools" / "check-names.py"


def check(package: Path, *, glossary: str = "`gc` `gc.backend` `api` `api.metadata`") -> list[str]:
    """Returns the problems that the script finds in a package."""
    (package / "glossary.md").write_text(glossary)
    completed = subprocess.run([sys.executable, SCRIPT, package], capture_output=True, text=True, check=False)
    assert completed.stderr == ""
    assert completed.returncode == (completed.stdout != "names: no problems\n")
    return completed.stdout.splitlines()


def write(package: Path, **modules: str) -> Path:
    """Writes modules; `gc__backend` is gc/backend.py."""
    for name, text in modules.items():
        path = package.joinpath(*name.split("__")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / "__init__.py").touch()
        path.write_text(text)
    return package


def test_clean_package_has_no_problems(tmp_path: Path) -> None:
    text = "class Exchanges:\n    def release(self, whole: int) -> None:\n        self.strayed = whole\n"
    assert check(write(tmp_path, api__metadata=text)) == ["names: no problems"]


@pytest.mark.parametrize(
    ("module", "problem"),
    [
        ("api__deeper__asking", "a module is a noun, `asking` is not"),
        ("api__deeper__list_shaping", "a module is a noun, `list_shaping` is not"),
        ("api__deeper__furniture", "do not call a module `furniture`; write bootstrap"),
        ("api__crew__names", "do not call a module `crew`; write controllers"),
    ],
)
def test_refused_module_name(tmp_path: Path, module: str, problem: str) -> None:
    found = check(write(tmp_path, **{module: ""}), glossary="`api` `api.deeper` `api.crew`")
    assert [line.partition(": ")[2] for line in found] == [problem]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("class Means: ...", "do not call a class `Means`; write context"),
        ("class _Happening: ...", "do not call a class `_Happening`; write WatchEvent"),
        ("class Judgement: ...", "do not call a class `Judgement`; write OwnerStatus"),
        ("class Whole: ...", "do not call a class `Whole`; write StoredObject"),
        ("class Touch: ...", "do not call a class `Touch`; write ChangedKey"),
        ("class Drop: ...", "do not call a class `Drop`; write RemoveOwnerReferences"),
        ("class Release: ...", "do not call a class `Release`; write RemoveFinalizer"),
        ("class Describe: ...", "do not call a class `Describe`; write UpdateStatus"),
        ("class Conclude: ...", "do not call a class `Conclude`; write Finalize"),
        ("class Furniture: ...", "do not call a class `Furniture`; write bootstrap"),
        ("def _whole(): ...", "do not call a function `_whole`; write what it completes, for example with_type_meta"),
        ("class A:\n    async def falls(self): ...", "do not call a function `falls`; write deletion_causes"),
        ("class CrewTable: ...", "do not write `crew` in `CrewTable`; write controller"),
        ("def find_doers(): ...", "do not write `doers` in `find_doers`; write actors"),
        ("def f(*, kinship): ...", "do not write `kinship` in `kinship`; write ownership"),
        ("ODDITIES = 1", "do not write `oddities` in `ODDITIES`; write field_validation"),
        ("def f(self):\n    self._furniture = 1", "do not write `furniture` in `_furniture`; write bootstrap"),
        ("strays: int = 1", "do not write `strays` in `strays`; write cross_namespace"),
    ],
)
def test_refused_identifier(tmp_path: Path, text: str, problem: str) -> None:
    (found,) = check(write(tmp_path / "package", api__metadata=f"import os\n{text}\n"))
    line = 1 + text.count("\n") + 1
    assert found == f"package/api/metadata.py:{line}: {problem}"


def test_module_name_is_not_repeated_within_a_package(tmp_path: Path) -> None:
    found = check(write(tmp_path, api__apply__conflicts="", api__rbac__conflicts=""), glossary="`api` `api.apply` `api.rbac`")
    assert found == ["api/apply/conflicts.py, api/rbac/conflicts.py: `conflicts` does not say of what"]


def test_role_of_every_kind_may_be_repeated(tmp_path: Path) -> None:
    package = write(tmp_path, kinds__apps__defaults="", kinds__batch__defaults="")
    assert check(package, glossary="`kinds` `kinds.apps` `kinds.batch`") == ["names: no problems"]


def test_folder_has_at_most_15_modules(tmp_path: Path) -> None:
    package = write(tmp_path, **{f"api__names__part{number}": "" for number in range(15)})
    glossary = "`api` `api.names`"
    assert check(package, glossary=glossary) == ["names: no problems"]
    write(package, api__names__part15="")
    assert check(package, glossary=glossary) == ["api/names: 16 modules; a folder has at most 15"]


def test_generated_modules_have_no_rules(tmp_path: Path) -> None:
    package = write(tmp_path, gc__backend="")
    (package / "gc" / "furniture_pb2.py").write_text("class Means: ...")
    assert check(package, glossary="`gc` `gc.backend` `gc.furniture_pb2`") == ["names: no problems"]


def test_module_of_the_top_two_levels_has_an_entry(tmp_path: Path) -> None:
    package = write(tmp_path, gc__backend="", gc__deep__er="", settings="")
    missing = ["docs/glossary.md has no entry for `gc.deep`", "docs/glossary.md has no entry for `settings`"]
    assert sorted(check(package)) == missing


@pytest.mark.parametrize("entry", ["| owner reference | …", "| ownerreference | …", "| owner | An owner has an `OwnerReference`."])
def test_class_of_a_domain_module_has_an_entry(tmp_path: Path, entry: str) -> None:
    package = write(tmp_path, gc__backend="class OwnerReference: ...\nclass _Private: ...\n")
    glossary = "`gc` `gc.backend`\n"
    assert check(package, glossary=glossary) == ["gc/backend.py:1: docs/glossary.md does not explain `OwnerReference`"]
    assert check(package, glossary=f"{glossary}{entry}\n") == ["names: no problems"]
