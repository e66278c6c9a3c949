"""Setting up: once, again when something changed, anew after an interruption, and errors without a traceback."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bootstrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script with a project folder of its own and requirements files that mean nothing."""
    spec = importlib.util.spec_from_file_location("bootstrap", ROOT / "bootstrap.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    (tmp_path / "requirements.txt").write_text("app==1\n")
    (tmp_path / "requirements-dev.txt").write_text("# tests\n-r requirements.txt\ntests==1\n")
    return module


class Installed:
    """Stands for the environment and pip: what was made and installed, in order."""

    def __init__(self, bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        self.venv = bootstrap.ROOT / ".venv"
        self.done: list[str] = []
        self.pip_status = 0
        self.version = "3.11.1"
        self.bootstrap = bootstrap
        monkeypatch.setattr(bootstrap, "make_venv", self.make)
        monkeypatch.setattr(bootstrap, "version_of", lambda python: self.version if python.exists() else None)
        monkeypatch.setattr(subprocess, "call", self.call)

    def make(self, venv: Path) -> None:
        self.done.append("venv")
        for old in venv.glob(".maskscope-*"):
            old.unlink()
        for folder in ("bin", "Scripts"):
            (venv / folder).mkdir(parents=True, exist_ok=True)
        for python in ("bin/python", "Scripts/python.exe"):
            (venv / python).touch()

    def call(self, command: list[str], cwd: Path) -> int:
        self.done.append(command[-1])
        return self.pip_status

    def install(self, requirements: str) -> list[str]:
        """What an installation did."""
        self.done = []
        self.bootstrap.install(self.venv, requirements)
        return self.done


@pytest.fixture
def installed(bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Installed:
    return Installed(bootstrap, monkeypatch)


def test_a_second_start_installs_nothing(installed: Installed) -> None:
    assert installed.install("requirements.txt") == ["venv", "requirements.txt"]
    assert installed.install("requirements.txt") == []


def test_tests_need_more_and_include_the_rest(installed: Installed) -> None:
    installed.install("requirements.txt")
    assert installed.install("requirements-dev.txt") == ["requirements-dev.txt"]
    assert installed.install("requirements.txt") == []


def test_testing_first_leaves_nothing_to_install_for_a_run(installed: Installed) -> None:
    installed.install("requirements-dev.txt")
    assert installed.install("requirements.txt") == []


@pytest.mark.parametrize("changed", ["requirements.txt", "requirements-dev.txt"])
def test_changed_requirements_are_installed(installed: Installed, bootstrap: ModuleType, changed: str) -> None:
    installed.install("requirements-dev.txt")
    with (bootstrap.ROOT / changed).open("a") as file:
        file.write("more==1\n")
    assert installed.install("requirements-dev.txt") == ["requirements-dev.txt"]
    assert installed.install("requirements-dev.txt") == []


def test_another_python_means_another_installation(installed: Installed) -> None:
    installed.install("requirements.txt")
    installed.version = "3.12.0"
    assert installed.install("requirements.txt") == ["requirements.txt"]


def test_a_failed_installation_is_made_anew(installed: Installed, bootstrap: ModuleType) -> None:
    installed.pip_status = 1
    with pytest.raises(bootstrap.SetupError, match="pip could not install"):
        installed.install("requirements.txt")
    installed.pip_status = 0
    assert installed.install("requirements.txt") == ["venv", "requirements.txt"]
    assert installed.install("requirements.txt") == []


def test_an_interrupted_installation_is_made_anew(installed: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object, **options: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(subprocess, "call", interrupted)
        with pytest.raises(KeyboardInterrupt):
            installed.install("requirements.txt")
    assert installed.install("requirements.txt") == ["venv", "requirements.txt"]


def test_an_environment_without_python_is_made_anew(installed: Installed, bootstrap: ModuleType) -> None:
    (bootstrap.ROOT / ".venv").mkdir()
    assert installed.install("requirements.txt") == ["venv", "requirements.txt"]


# --- the real parts


def test_version_of(bootstrap: ModuleType, tmp_path: Path) -> None:
    assert bootstrap.version_of(tmp_path / "none") is None
    broken = tmp_path / "broken"
    broken.write_text("not a program")
    assert bootstrap.version_of(broken) is None
    assert bootstrap.version_of(Path(sys.executable)) == sys.version


def test_a_python_without_venv(bootstrap: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "occupied").write_text("a file where the folder should be")
    with pytest.raises(bootstrap.SetupError, match="python3-venv"):
        bootstrap.make_venv(tmp_path / "occupied" / ".venv")


@pytest.mark.parametrize("version", [(3, 8, 10), (3, 10, 99)])
def test_python_too_old(bootstrap: ModuleType, version: tuple[int, ...]) -> None:
    with pytest.raises(bootstrap.SetupError, match=r"This is Python 3\.(8|10); Maskscope needs 3\.11"):
        bootstrap.check_python(version)
    bootstrap.check_python((3, 11, 0))
    bootstrap.check_python((4, 0, 0))


def test_port_taken(bootstrap: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as server:
        server.bind(("localhost", 0))
        server.listen()
        port = server.getsockname()[1]
        assert bootstrap.main(["run", "--port", str(port)]) == 1
    assert f"Port {port} is taken" in capsys.readouterr().err


def test_arguments_go_to_pytest(installed: Installed, bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(bootstrap, "become", lambda command: commands.append(command) or 0)
    assert bootstrap.main(["test", "-k", "trie", "--maxfail=1", "tests/unit"]) == 0
    assert bootstrap.main(["test", "--", "-x"]) == 0
    assert [command[1:] for command in commands] == [
        ["-m", "pytest", "-k", "trie", "--maxfail=1", "tests/unit"],
        ["-m", "pytest", "-x"],
    ]


@pytest.mark.parametrize(("statuses", "status"), [([0, 0], 0), ([1, 0], 1), ([0, 2], 2), ([-9, 1], -9)])
def test_all_tests_run_in_two_parts(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, statuses: list[int], status: int
) -> None:
    commands: list[list[str]] = []
    monkeypatch.chdir(ROOT)  # and back at the end
    monkeypatch.setattr(bootstrap, "install", lambda venv, requirements: Path("python"))
    monkeypatch.setattr(bootstrap, "get_model", lambda python: True)
    monkeypatch.setattr(subprocess, "call", lambda command: commands.append(command) or statuses[len(commands) - 1])
    assert bootstrap.main(["test"]) == status
    marked = [command[command.index("-m", 2) :] for command in commands]
    assert marked == [["-m", "not browser"], ["-m", "browser"]]


def test_the_app_starts_without_a_model(
    installed: Installed, bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(bootstrap, "check_port", lambda port: None)
    monkeypatch.setattr(bootstrap, "get_model", lambda python: False)
    monkeypatch.setattr(bootstrap, "become", lambda command: commands.append(command) or 0)
    assert bootstrap.main(["run"]) == 0
    assert commands[0][1:] == ["serve.py", "--server.port", "8501"]
    output = capsys.readouterr().out
    assert "http://localhost:8501" in output
    assert "without a model" in output


def test_errors_are_messages(bootstrap: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bootstrap.main(["run", "--what"])
    with pytest.raises(SystemExit):
        bootstrap.main(["run", "--port", "70000"])
    with pytest.raises(SystemExit):
        bootstrap.main([])
    assert "Traceback" not in capsys.readouterr().err
