"""Models that can't be had: one clear message each, and nothing that runs code."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.model import ModelError, load, load_model


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MASKSCOPE_MODEL", raising=False)
    monkeypatch.delenv("MASKSCOPE_DEVICE", raising=False)


def folder_with(tmp_path: Path, *names: str) -> str:
    for name in names:
        (tmp_path / name).write_bytes(b"{}")
    return str(tmp_path)


@pytest.mark.parametrize("spec", ["/no/such/folder", "./nothing", "~/no/such", "missing.gguf", "a/b/c", "what is this"])
def test_nothing_there(spec: str) -> None:
    with pytest.raises(ModelError, match="no such file or folder"):
        load_model(spec)


def test_the_environment_names_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASKSCOPE_MODEL", "/no/such/folder")
    with pytest.raises(ModelError, match="/no/such/folder"):
        load_model()


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "not a model folder"),
        (["config.json", "tokenizer.json"], "no safetensors weights"),
        (["config.json", "pytorch_model.bin"], "pickle"),
        (["model.safetensors", "tokenizer.json"], "not config.json"),
        (["model.safetensors", "config.json"], "not a tokenizer"),
        (["a.gguf", "b.gguf"], "name the one to use, for example .*a.gguf"),
        (["model.safetensors", "config.json", "tokenizer.json"], "could not be loaded"),
    ],
)
def test_folders_that_are_not_a_model(tmp_path: Path, names: list[str], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load_model(folder_with(tmp_path, *names), device="cpu")


@pytest.mark.parametrize("name", ["model.bin", "model.pt", "model.ckpt"])
def test_pickles_are_refused(tmp_path: Path, name: str) -> None:
    folder_with(tmp_path, name)
    with pytest.raises(ModelError, match="can run code"):
        load_model(str(tmp_path / name))


def test_a_file_that_is_not_gguf(tmp_path: Path) -> None:
    folder_with(tmp_path, "model.gguf")
    with pytest.raises(ModelError, match="not a GGUF file"):
        load_model(str(tmp_path / "model.gguf"))


def test_a_damaged_gguf_file(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF" + bytes(40))
    with pytest.raises(ModelError, match="could not be loaded"):
        load_model(str(tmp_path / "model.gguf"), device="cpu")


def test_a_hub_model_without_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*args: object, **options: object) -> str:
        raise ConnectionError("no route to host\nand more")

    monkeypatch.setattr("huggingface_hub.snapshot_download", unreachable)
    with pytest.raises(ModelError, match=r"someone/some-model could not be had .*\(no route to host\)") as caught:
        load_model("someone/some-model")
    assert "local folder" in str(caught.value)


@pytest.mark.parametrize("device", ["tpu", "cuda:x", "CPU"])
def test_unknown_device(device: str) -> None:
    with pytest.raises(ModelError, match="one of cpu, cuda, mps"):
        load._chosen_device(device)


def test_a_device_this_machine_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: False)
    with pytest.raises(ModelError, match="has no cuda"):
        load._chosen_device("cuda")
    assert load._chosen_device(None) == "cpu"
