"""The app without a browser and without weights: AppTest over a fake model."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

import pages._model
from engine.model import ModelError
from engine.vocabulary import Vocabulary
from tests.unit.fake_model import FakeModel

APP = str(Path(__file__).parents[2] / "app.py")
MERGED = [b'{"', b'":', b'",', b' "', b'"}', b"name", b"age", b"true", b"00"]
END = 256 + len(MERGED)
VOCABULARY = Vocabulary.from_tokens([*(bytes([b]) for b in range(256)), *MERGED, b"<end>"], end_ids=[END])


class LongestMatch:
    """A tokenizer's own way to write a text: the longest token first."""

    def encode(self, data: bytes) -> tuple[int, ...] | None:
        ids: list[int] = []
        while data:
            longest = max((token for token in VOCABULARY.tokens if token and data.startswith(token)), key=len)
            ids.append(VOCABULARY.tokens.index(longest))
            data = data[len(longest) :]
        return tuple(ids)

    def encode_many(self, texts: Iterable[bytes]) -> list[tuple[int, ...] | None]:
        return [self.encode(data) for data in texts]


class PageModel(FakeModel):
    """A fake with what the pages ask for besides; it would rather end than go on, so that runs are short."""

    name, device = "fake", "cpu"
    has_chat_template = True
    canonical = LongestMatch()

    def prompt_text(self, prompt: str, chat_template: bool) -> str:
        return f"<user>{prompt}</user>" if chat_template else prompt

    def _hashed(self, ids: tuple[int, ...]) -> np.ndarray:
        logits = np.random.default_rng(ids).normal(size=self.vocabulary.size)
        logits[[END, *b'"}0123456789']] += 4
        return logits


@pytest.fixture(autouse=True)
def _no_leftovers() -> Iterator[None]:
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model can't be had."""

    def refuse(progress: Callable[[str, float], None]) -> None:
        raise ModelError("There is no model at nowhere: no such file or folder.")

    monkeypatch.setattr(pages._model, "load_model", refuse)


@pytest.fixture
def fake_model(monkeypatch: pytest.MonkeyPatch) -> PageModel:
    """The model is there at once."""
    model = PageModel(VOCABULARY)
    monkeypatch.setattr(pages._model, "load_model", lambda progress: model)
    return model


def opened(page: str = "pages/step_through.py", **query: str) -> AppTest:
    """A page of the app, opened and with its model's fate decided."""
    at = AppTest.from_file(APP, default_timeout=30).run().switch_page(page)
    for name, value in query.items():
        at.query_params[name] = value
    at.run()
    wait_for(lambda: not pages._model.loading().busy)
    return at.run()


def lesson(slug: str, *, revealed: bool = True) -> AppTest:
    """A lesson's page, opened and with its model's fate decided; `revealed`: its prediction skipped."""
    at = AppTest.from_file(APP, default_timeout=30)
    at._page_hash = calc_hash(slug)  # a page that is a function has no path to switch to
    at.run()
    wait_for(lambda: not pages._model.loading().busy)
    at.run()
    return at.button(key=f"{slug}_prediction_skip").click().run() if revealed else at


def wait_for(happened: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < until, "it never happened"
        time.sleep(0.02)


def sent(at: AppTest, component: str) -> list[Any]:
    """The data of each mounted component of that name."""
    protos = [element.proto for element in at.get("bidi_component")]
    return [json.loads(proto.json) for proto in protos if proto.component_name == f"maskscope.{component}"]


def notices(at: AppTest) -> str:
    """Every message on the page."""
    return "\n".join(data["text"] for data in sent(at, "notice"))


def typed(at: AppTest, kind: str, text: str) -> None:
    """As if `text` had been typed into the constraint's editor."""
    at.session_state[f"{kind}_editor, its text"].text = text
    at.run()


def field_of(at: AppTest, kind: str) -> Any:
    """What the constraint's editor was sent."""
    return next(data for data in sent(at, "editor") if data["key"] == f"{kind}_editor")
