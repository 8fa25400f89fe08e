"""Kubeconfig files: what a command takes from them, and what it refuses."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from probate.client.http_kubeconfig import find_files, read_access
from probate.core import errors


def config(
    *, cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, current: str = "one", **fields: Any
) -> str:
    return yaml.safe_dump(
        {
            "current-context": current,
            "contexts": [{"name": "one", "context": {"cluster": "c", "user": "u"}}, {"name": "two", "context": {"cluster": "c"}}],
            "clusters": [{"name": "c", "cluster": {"server": "https://h:6443/", **(cluster or {})}}],
            "users": [{"name": "u", "user": user or {}}],
            **fields,
        }
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_embedded_credentials(file: Path) -> None:
    user = {"client-certificate-data": encoded("CERT"), "client-key-data": encoded("KEY")}
    file.write_text(config(cluster={"certificate-authority-data": encoded("CA"), "tls-server-name": "n"}, user=user))
    access = read_access([file])
    assert (access.url, access.server_name, access.is_verified) == ("https://h:6443", "n", True)
    assert (access.authority, access.certificate, access.key) == (b"CA", b"CERT", b"KEY")


def test_files_are_relative_to_the_kubeconfig(file: Path) -> None:
    for name in ("ca", "crt", "key"):
        (file.parent / name).write_text(name.upper())
    user = {"client-certificate": "crt", "client-key": str(file.parent / "key"), "tokenFile": "token"}
    file.write_text(config(cluster={"certificate-authority": "ca"}, user=user))
    access = read_access([file])
    assert (access.authority, access.certificate, access.key) == (b"CA", b"CRT", b"KEY")
    assert access.token_file == str(file.parent / "token")


def test_named_context_and_user_without_credentials(file: Path) -> None:
    file.write_text(config(user={"token": "t"}))
    assert read_access([file]).token == "t"  # noqa: S105
    assert read_access([file], "two").token == ""


def test_insecure_server(file: Path) -> None:
    file.write_text(config(cluster={"insecure-skip-tls-verify": True}))
    assert not read_access([file]).is_verified


def test_of_several_files_the_first_that_names_something_counts(file: Path) -> None:
    file.write_text(yaml.safe_dump({"users": [{"name": "u", "user": {"token": "first"}}]}))
    second = file.with_name("second")
    second.write_text(config(user={"token": "second"}))
    assert read_access([file, second]).token == "first"  # noqa: S105


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (config(user={"exec": {"command": "x"}}), 'the user "u" in {file} asks for a credential plugin (exec)'),
        (config(user={"auth-provider": {"name": "x"}}), "asks for an authentication provider"),
        (config(user={"username": "x", "password": "y"}), "asks for a password"),
        (config(user={"as": "x", "token": "t"}), "asks for impersonation"),
        (config(cluster={"proxy-url": "http://p"}), "asks for a proxy"),
        (config(cluster={"server": "h:6443"}), "is not an address such as https://"),
        (config(cluster={"server": None}), "is not an address such as https://"),
        (config(user={"client-certificate-data": encoded("x")}), "a client certificate needs its key"),
        (config(user={"token": 7}), 'the user "u" in {file}: the field token is not a text'),
        (config(user={"client-key-data": "%"}), "the field client-key-data is not base64"),
        (config(user={"client-key": "none"}), "the file none cannot be read: No such file or directory"),
        (config(current=""), "has no current-context. Name a context with --context"),
        (config(current="three"), 'there is no context "three" in {file}, only one, two'),
        (config(clusters=None), 'there is no cluster "c" in {file}, only none'),
        (config(users=["u"]), 'there is no user "u" in {file}, only none'),
        ("[1]", "the kubeconfig {file} is not a YAML object"),
        ("a: [", "the kubeconfig {file} cannot be read: the body is not valid YAML"),
    ],
)
def test_what_cannot_be_used_is_refused(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    with pytest.raises(errors.CannotOpen) as refusal:
        read_access([file])
    assert message.format(file=file) in str(refusal.value)


def test_unreadable_file_is_refused(file: Path) -> None:
    with pytest.raises(errors.CannotOpen, match="cannot be read: No such file"):
        read_access([file])


class TestFindFiles:
    """Which files a command reads."""

    @pytest.fixture(autouse=True)
    def _in_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)

    def test_option_comes_first(self) -> None:
        assert find_files("mine", {"KUBECONFIG": "other"}) == [Path("mine")]

    def test_environment_names_several(self) -> None:
        Path("a").touch()
        Path("c").touch()
        Path("probate.kubeconfig").touch()
        assert find_files("", {"KUBECONFIG": "a:b::c"}) == [Path("a"), Path("c")]

    def test_environment_that_names_nothing_that_exists_is_an_error(self) -> None:
        with pytest.raises(errors.CannotOpen, match=r"a, b of \$KUBECONFIG does not exist"):
            find_files("", {"KUBECONFIG": "a:b"})

    def test_servers_file_in_this_folder_comes_before_kubectls(self, tmp_path: Path) -> None:
        home = {"HOME": str(tmp_path / "home")}
        kubectls = tmp_path / "home" / ".kube" / "config"
        kubectls.parent.mkdir(parents=True)
        kubectls.touch()
        assert find_files("", home) == [kubectls]
        Path("probate.kubeconfig").touch()
        assert find_files("", home) == [Path("probate.kubeconfig")]

    def test_nothing_to_find(self, tmp_path: Path) -> None:
        with pytest.raises(errors.CannotOpen, match="Give one with --kubeconfig"):
            find_files("", {"HOME": str(tmp_path)})
