"""Whose tokens the Schema debugger masks: the model's, or those of an uploaded tokenizer.json."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import streamlit as st

from engine.vocabulary import Canonical, Vocabulary
from engine.vocabulary.spelling import VocabularyError
from engine.vocabulary.tokenizer_file import END_NAMES, MOST_BYTES, TokenizerFile, read_tokenizer_file
from pages._debug_work import Progress, Question
from pages._model import loading
from visualizations.notice import notice
from visualizations.tokens import prose

MOST_NAMES = 400  # special tokens offered as end tokens


@dataclass(frozen=True, slots=True)
class Tokens:
    """A vocabulary with its name and, where it can be had, the tokenizer's own way to split texts."""

    name: str
    vocabulary: Vocabulary
    canonical: Canonical | None
    note: str = ""


@dataclass
class Upload:
    """The visitor's own tokenizer: the file's content, what became of it, and which tokens end a text."""

    name: str = ""
    data: bytes = b""
    digest: str = ""
    ends: tuple[str, ...] | None = None


@st.cache_resource(max_entries=6, show_spinner=False)
def _read(digest: str, ends: tuple[str, ...] | None, _data: bytes) -> TokenizerFile | VocabularyError:
    try:
        return read_tokenizer_file(_data, END_NAMES if ends is None else ends)
    except VocabularyError as error:
        return error.with_traceback(None)


def tokens_in_use(question: Question[TokenizerFile | VocabularyError]) -> Tokens | None:
    """The uploaded vocabulary, else the model's; None while there is neither."""
    upload: Upload | None = st.session_state.get("debug_upload")
    if upload is not None:

        def work(progress: Progress) -> TokenizerFile | VocabularyError:
            progress.say(f"Reading {upload.name}", 0.3)
            return _read(upload.digest, upload.ends, upload.data)

        read = question.ask((upload.digest, upload.ends), work)
        if isinstance(read, TokenizerFile):
            return Tokens(upload.name, read.vocabulary, read.canonical, read.untrusted)
        if read is None and question.busy:
            return None
    model = loading().model
    return None if model is None else Tokens(model.name, model.vocabulary, model.canonical)


def vocabulary_panel(tokens: Tokens | None, question: Question[TokenizerFile | VocabularyError]) -> None:
    """Which vocabulary is in use, and the upload of another."""
    name = "none yet" if tokens is None else f"{prose(tokens.name)}, {tokens.vocabulary.size:,} tokens"
    with st.expander("Vocabulary", icon=":material/dictionary:", expanded=isinstance(question.answer, VocabularyError)):
        st.text(f"In use: {name}")
        st.file_uploader(
            "Your own model's tokenizer.json",
            type="json",
            key="debug_tokenizer",
            max_upload_size=MOST_BYTES // 1_000_000,
            on_change=_uploaded,
            help="Read as data, nothing in it is executed. Everything on this page that needs no probabilities then "
            "speaks of its tokens.",
        )
        upload: Upload | None = st.session_state.get("debug_upload")
        if upload is None:
            st.caption("Byte-level BPE and SentencePiece tokenizers are supported, up to 30 MB.")
            return
        if isinstance(question.answer, VocabularyError):
            notice(f"{upload.name} can't be used: {question.answer}", key="debug_tokenizer_problem")
        elif isinstance(question.answer, TokenizerFile):
            _about(question.answer)
        st.button("Back to the model's vocabulary", on_click=_forget, key="debug_forget")


def _about(read: TokenizerFile) -> None:
    specials = sorted(read.vocabulary.name(i) for i in read.vocabulary.special_ids | read.vocabulary.end_ids)
    st.multiselect(
        "Tokens that end a text",
        list(dict.fromkeys((*read.ends, *specials[:MOST_NAMES]))),
        default=list(read.ends),
        key=f"debug_ends_{read.vocabulary.digest[:12]}",
        on_change=lambda: _end_with(st.session_state[f"debug_ends_{read.vocabulary.digest[:12]}"]),
        help="The file doesn't say which of its special tokens end a text; these are known names.",
    )
    if not read.ends:
        notice(
            "No special token with a known name ends a text: the end is never allowed.",
            key="debug_no_end",
            kind="warning",
        )
    if read.untrusted:
        notice(
            f"Texts are split into the longest tokens, not by the tokenizer's own rules. {read.untrusted}",
            key="debug_untrusted",
            kind="warning",
        )


def _uploaded() -> None:
    file = st.session_state["debug_tokenizer"]
    if file is None:
        return
    data = file.getvalue()
    st.session_state["debug_upload"] = Upload(prose(file.name[:80]), data, hashlib.sha256(data).hexdigest())


def _end_with(names: list[str]) -> None:
    upload: Upload = st.session_state["debug_upload"]
    st.session_state["debug_upload"] = Upload(upload.name, upload.data, upload.digest, tuple(sorted(names)))


def _forget() -> None:
    st.session_state.pop("debug_upload", None)
