"""Where a model comes from: the bundled one, a local folder, a GGUF file or the Hugging Face hub.

Whoever starts the server chooses, with MASKSCOPE_MODEL and MASKSCOPE_DEVICE. Weights are data only: safetensors or
GGUF, never pickles, and no code that comes with a model is run.
"""

from __future__ import annotations

import gc
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.model.bundled import NAME, Progress, bundled_model
from engine.model.errors import ModelError

if TYPE_CHECKING:  # torch and transformers take seconds to import; a page must not wait for them
    from engine.model.model import Model
    from engine.model.runner import Network

# torch's threads spin while they wait for each other, unless told to sleep before torch is loaded. Where something else
# wants a core as well (a browser, another session), spinning makes a forward pass up to ten times slower.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

DEVICES = ("cpu", "cuda", "mps")
_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")
_HUB_FILES = ["*.safetensors", "*.safetensors.index.json", "*.json", "*.jinja", "*.model", "*.txt"]
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
_LOCAL: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
_TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json")


@dataclass(frozen=True, slots=True)
class _Place:
    """A folder, and the GGUF file in it ("" if its weights are safetensors)."""

    folder: Path
    name: str
    gguf: str = ""


def load_model(spec: str | None = None, device: str | None = None, progress: Progress | None = None) -> Model:
    """Load a model: `spec` is a local folder, a GGUF file or a hub id; None is MASKSCOPE_MODEL, else the bundled one.

    `device` is cpu, cuda or mps; None is MASKSCOPE_DEVICE, else the best there is. `progress` is called from this
    thread with what is being done and the part done (0 to 1). Raises ModelError, whose message says what to do.
    """
    report = progress or (lambda text, part: None)
    place = _find(spec or os.environ.get("MASKSCOPE_MODEL") or None, report)
    report(f"Loading {place.name}", 0.0)
    collecting = gc.isenabled()
    gc.disable()  # a fifth of the time goes into collections while modules are imported, and nothing is garbage yet
    try:
        model = _load(place, _chosen_device(device or os.environ.get("MASKSCOPE_DEVICE") or None))
        gc.freeze()  # what is loaded stays: later collections need not look at it (190 ms each)
    finally:
        if collecting:
            gc.enable()
    report(f"{place.name} is ready", 1.0)
    return model


def _find(spec: str | None, report: Progress) -> _Place:
    if spec is None:
        return _Place(bundled_model(report), NAME)
    path = Path(spec).expanduser()
    if path.is_file():
        return _gguf_file(path)
    if path.is_dir():
        return _model_folder(path)
    if spec.startswith((".", "~")) or path.is_absolute() or path.suffix == ".gguf" or not _HUB_ID.fullmatch(spec):
        raise ModelError(f"There is no model at {spec}: no such file or folder. Check the path in MASKSCOPE_MODEL.")
    return _from_hub(spec, report)


def _gguf_file(path: Path) -> _Place:
    if path.suffix in _PICKLES:
        raise ModelError(
            f"{path.name} is a pickle, and a pickle can run code when it is read. "
            "Name a GGUF file, or a folder with safetensors weights."
        )
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise ModelError(f"{path.name} is not a GGUF file. Name a GGUF file, or a folder with safetensors weights.")
    return _Place(path.parent, path.stem, path.name)


def _model_folder(folder: Path, name: str = "") -> _Place:
    names = sorted(file.name for file in folder.iterdir())
    if any(file.endswith(".safetensors") for file in names):
        needed = {"config.json": ("config.json",), "a tokenizer (tokenizer.json)": _TOKENIZER_FILES}
        for what, files in needed.items():
            if not set(files) & set(names):
                raise ModelError(f"{folder} is not a complete model folder: it has weights, but not {what}.")
        return _Place(folder, name or folder.resolve().name)
    if ggufs := [file for file in names if file.endswith(".gguf")]:
        raise ModelError(f"{folder} holds GGUF files; name the one to use, for example {folder / ggufs[0]}.")
    if any(file.endswith(_PICKLES) for file in names):
        raise ModelError(
            f"{folder} has its weights as pickles only, and a pickle can run code when it is read. "
            "Use a version of the model with safetensors weights, or a GGUF file."
        )
    raise ModelError(
        f"{folder} is not a model folder: it has no safetensors weights. "
        "A model folder holds config.json, a tokenizer and *.safetensors."
    )


def _from_hub(hub_id: str, report: Progress) -> _Place:
    """The files of a hub model in the hub's own cache; without a network, those of an earlier download."""
    from huggingface_hub import snapshot_download

    report(f"Fetching {hub_id} from the Hugging Face hub", 0.0)
    try:
        folder = snapshot_download(hub_id, allow_patterns=_HUB_FILES, ignore_patterns=["*/*"])
    except Exception as error:  # the hub's client raises what its HTTP library raises
        raise ModelError(
            f"{hub_id} could not be had from the Hugging Face hub ({_first_line(error)}). "
            "Check the name and the connection, or put a local folder or a GGUF file in MASKSCOPE_MODEL."
        ) from error
    return _model_folder(Path(folder), hub_id)


def _chosen_device(device: str | None) -> str:
    import torch

    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if device is None:
        return next(name for name in ("cuda", "mps", "cpu") if there[name])
    if device not in DEVICES:
        raise ModelError(f"There is no device {device!r}. MASKSCOPE_DEVICE is one of {', '.join(DEVICES)}.")
    if not there[device]:
        raise ModelError(f"This machine, or its installation of torch, has no {device}. Set MASKSCOPE_DEVICE to cpu.")
    return device


def _load(place: _Place, device: str) -> Model:
    try:
        return _read(place, device)
    except Exception as error:  # transformers raises nearly anything for a folder it cannot make sense of
        raise ModelError(
            f"{place.name} could not be loaded ({type(error).__name__}: {_first_line(error)}). "
            f"It was read from {place.folder}. If the files are damaged, delete them and start again; "
            "otherwise name another model in MASKSCOPE_MODEL."
        ) from error


def _read(place: _Place, device: str) -> Model:
    from transformers import AutoTokenizer
    from transformers.utils import logging

    from engine.model.model import Model

    logging.disable_progress_bar()
    gguf = {"gguf_file": place.gguf} if place.gguf else {}
    tokenizer = AutoTokenizer.from_pretrained(place.folder, **_LOCAL, **gguf)
    network, details = (device == "cpu" and _packed(place)) or _network(place, device)
    model = Model(network, tokenizer, path=place.folder, name=place.name, device=device, **details)
    model.extend(model.new_cache(), [0])  # the first pass is slow, and a model that cannot run should fail here
    return model


def _packed(place: _Place) -> tuple[Network, dict[str, Any]] | None:
    """The network whose weights are packed, and what a Model says of it."""
    from transformers import GenerationConfig

    from engine.model.llama import Llama
    from engine.model.packed import open_weights

    weights = open_weights(place.folder)
    if weights is None:
        return None
    network = Llama(weights)
    configured = GenerationConfig.from_pretrained(place.folder, local_files_only=True)
    return network, _details(network.context, network.vocabulary_size, configured)


def _network(place: _Place, device: str) -> tuple[Network, dict[str, Any]]:
    import torch
    from transformers import AutoModelForCausalLM

    from engine.model.transformer import Transformer

    network = AutoModelForCausalLM.from_pretrained(
        place.folder,
        dtype=torch.bfloat16 if device == "cuda" else torch.float32,
        **_LOCAL,
        **({"gguf_file": place.gguf} if place.gguf else {"use_safetensors": True}),
    )
    network = network.to(device).eval()
    context = int(network.config.get_text_config().max_position_embeddings)
    size = network.get_output_embeddings().weight.shape[0]
    return Transformer(network, context), _details(context, size, network.generation_config)


def _details(context: int, vocabulary_size: int, configured: Any) -> dict[str, Any]:
    """`configured`: the generation config, with one stop id, many or none."""
    ends = configured.eos_token_id
    end_ids = {int(token_id) for token_id in (ends if isinstance(ends, list) else [ends]) if token_id is not None}
    return {"context": context, "vocabulary_size": vocabulary_size, "end_ids": end_ids}


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
