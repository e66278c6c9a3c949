"""The one model all visitors share, loaded in the background while pages already show recorded traces."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from engine.model import ModelError, load_model

if TYPE_CHECKING:
    from engine.model.model import Model


@dataclass
class Loading:
    """How far the model is: `model` once it is there, `problem` (what happened and what to do) if it can't be had."""

    phase: str = "Loading the model"
    share: float = 0.0
    model: Model | None = None
    problem: str = ""

    @property
    def busy(self) -> bool:
        """Still loading."""
        return self.model is None and not self.problem

    def note(self, phase: str, share: float) -> None:
        """What the loader reports: the phase in words and the share of it that is done."""
        self.phase, self.share = phase, min(1.0, max(0.0, share))

    def load(self) -> None:
        """Load the model; for a thread of its own."""
        from engine.analysis import masses
        from engine.decoding import sampler
        from engine.masking.json_lexemes import prepared  # the compiler of the masks' inner loops comes with it

        try:
            model = load_model(progress=self.note)
            self.note("Getting ready for masks", 1.0)
            sampler.make_ready()
            masses.make_ready(model.vocabulary.trie)
            prepared(model.vocabulary)  # now, or the first visitor's first mask waits for it
            model.canonical.encode(b"")  # it copies the tokenizer, which holds everybody up
            self.model = model
        except ModelError as error:
            self.problem = str(error)
        except Exception:
            logging.getLogger(__name__).exception("The model could not be loaded")
            self.problem = "The model could not be loaded; the server's log says why."


@st.cache_resource(show_spinner=False)
def loading() -> Loading:
    """The model's state, the same object for every visitor; the first call starts the loading."""
    state = Loading()
    threading.Thread(target=state.load, name="model", daemon=True).start()
    return state
