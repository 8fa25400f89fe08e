"""The command line apart from what its commands call: output, exit codes, help."""

from __future__ import annotations

import csv
import hashlib
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from probate.cli import main
from probate.cli.context import CommandContext, DamagedRow, StoreCheck
from probate.core import errors
from probate.server.authn.token_file import TokenFile
from probate.settings import Settings

HEALTHY = StoreCheck(objects=3, history=5, damaged=[], problems=[], notes=["the history was not checked"])


def run(*arguments: str, check: StoreCheck = HEALTHY) -> Result:
    def serve(settings: Settings) -> None:
        raise errors.CannotOpen(f"the store {settings.store}\nis in use")

    return CliRunner().invoke(main.probate, arguments, obj=CommandContext(serve, lambda _: check))


class TestToken:
    """`probate token`."""

    def test_line_is_for_the_token_that_is_shown(self) -> None:
        result = run("token", "ann", "--group", "staff", "--group", "a,b", "--uid", "7")
        assert result.exit_code == 0
        (row,) = csv.reader([result.stdout])
        assert row == [hashlib.sha256(result.stderr.strip().encode()).hexdigest(), "ann", "7", "staff,a,b"]

    def test_server_reads_the_line(self, tmp_path: Path) -> None:
        (tmp_path / "tokens.csv").write_text(run("token", 'o"brien').stdout)
        TokenFile(tmp_path / "tokens.csv")

    def test_no_two_tokens_are_the_same(self) -> None:
        assert run("token", "ann").stderr != run("token", "ann").stderr


class TestStoreCheck:
    """`probate store check`."""

    def test_healthy_store(self) -> None:
        result = run("store", "check")
        assert result.exit_code == 0
        assert result.stdout == "note: the history was not checked\n3 objects and 5 earlier versions read: all is well\n"

    def test_damaged_objects_are_a_table(self) -> None:
        damaged = [DamagedRow("pods", "shop", "web-1", 17, "checksum"), DamagedRow("nodes", "", "n", 4, "not JSON")]
        result = run("store", "check", check=HEALTHY._replace(damaged=damaged, notes=[]))
        assert result.exit_code == 1
        assert result.stdout.splitlines() == [
            "RESOURCE  NAMESPACE  NAME   REVISION  PROBLEM",
            "pods      shop       web-1  17        checksum",
            "nodes                n      4         not JSON",
            "3 objects and 5 earlier versions read: 2 damaged, 0 other problems",
        ]

    def test_other_problems_fail_too(self) -> None:
        result = run("store", "check", check=HEALTHY._replace(problems=["the watermark is ahead"]))
        assert result.exit_code == 1
        assert "problem: the watermark is ahead\n" in result.stdout


def test_failure_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(_: str) -> StoreCheck:
        raise errors.CannotOpen("the store\nis in use")

    monkeypatch.setattr(sys, "argv", ["probate", "store", "check"])
    with pytest.raises(SystemExit) as exit_:
        main.run(CommandContext(lambda _: None, fail))
    assert exit_.value.code == 1
    assert capsys.readouterr().err == "probate: the store is in use\n"


def test_help_of_serve_lists_its_options_under_headings() -> None:
    lines = run("serve", "--help").stdout.splitlines()
    headings = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert headings[0] == "Store:"
    assert headings[-1] == "Other:"
    assert len(headings) == len(set(headings)) > 5


@pytest.mark.parametrize("wrong", ["90", "soon", "1y"])
def test_duration_without_a_known_unit_is_refused(wrong: str) -> None:
    result = run("serve", "--history", wrong)
    assert result.exit_code == 2
    assert f"{wrong!r} is not a duration" in result.stderr
