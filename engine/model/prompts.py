"""What the model reads: the user's prompt inside the chat template, as text and as token ids.

User text never turns into special tokens, whatever it spells: a prompt that contains `<|im_end|>` is read as those ten
characters. The template's own special tokens must still be recognised. So the ids are first taken from the whole text,
as every other program does; if that gives other special tokens than the template has around any harmless prompt, the
text is taken apart at the template's special tokens and the rest is encoded with special tokens switched off.

A tokenizer's switch for special tokens is shared state: callers hold a lock around `encode_*`.
"""

from __future__ import annotations

import re
from typing import Any

# Two private-use characters around a word: no template and no prompt contains this by accident.
_HARMLESS = "\ue000maskscope\ue000"


def template_around(tokenizer: Any) -> tuple[str, str] | None:
    """What the chat template puts before and after a user's message, or None if there is no usable template."""
    if not tokenizer.chat_template:
        return None
    try:
        text = tokenizer.apply_chat_template(
            [{"role": "user", "content": _HARMLESS}], tokenize=False, add_generation_prompt=True
        )
    except Exception:  # a template is a program: it may raise anything, also for want of a system message
        return None
    before, found, after = text.partition(_HARMLESS)
    return (before, after) if found else None


def encode_plain(tokenizer: Any, prompt: str) -> list[int]:
    """The ids of a prompt without template, with what the tokenizer itself puts before a text (a start token)."""
    ids: list[int] = tokenizer(prompt, split_special_tokens=True)["input_ids"]
    return ids


def encode_chat(tokenizer: Any, around: tuple[str, str], prompt: str, special_ids: frozenset[int]) -> list[int]:
    """The ids of a prompt inside its template."""
    before, after = around
    ids = _encode(tokenizer, before + prompt + after, split=False)
    expected = _encode(tokenizer, before + _HARMLESS + after, split=False)
    if _only(ids, special_ids) == _only(expected, special_ids):
        return ids
    return _encode_apart(tokenizer, before, prompt, after)


def closing_tokens(tokenizer: Any) -> set[int]:
    """The special token with which the chat template closes what the assistant said, if there is one."""
    if not tokenizer.chat_template:
        return set()
    messages = [{"role": "user", "content": "."}, {"role": "assistant", "content": _HARMLESS}]
    try:
        text = tokenizer.apply_chat_template(messages, tokenize=False)
    except Exception:  # see template_around
        return set()
    after = text.partition(_HARMLESS)[2].lstrip()
    found = _special_pattern(tokenizer).match(after)
    return {int(tokenizer.convert_tokens_to_ids(found[0].strip()))} if found else set()


def _encode_apart(tokenizer: Any, before: str, prompt: str, after: str) -> list[int]:
    """Text beside the prompt is one stretch with it, as it would be for a harmless prompt."""
    pattern = _special_pattern(tokenizer)
    head, tail = pattern.split(before), pattern.split(after)  # text at even places, special tokens at odd ones
    ids: list[int] = []
    for place, part in enumerate([*head[:-1], head[-1] + prompt + tail[0], *tail[1:]]):
        if place % 2:
            ids.append(tokenizer.convert_tokens_to_ids(part.strip()))
        else:
            ids += _encode(tokenizer, part, split=True)
    return ids


def _special_pattern(tokenizer: Any) -> re.Pattern[str]:
    """One group: a special token, with the white space it swallows; the longest where several begin alike."""
    specials = [token for token in tokenizer.added_tokens_decoder.values() if token.special]
    specials.sort(key=lambda token: len(token.content), reverse=True)
    alternatives = [
        ("\\s*" if token.lstrip else "") + re.escape(token.content) + ("\\s*" if token.rstrip else "")
        for token in specials
    ]
    return re.compile(f"({'|'.join(alternatives) or '(?!)'})")


def _encode(tokenizer: Any, text: str, *, split: bool) -> list[int]:
    ids: list[int] = tokenizer(text, add_special_tokens=False, split_special_tokens=split)["input_ids"]
    return ids


def _only(ids: list[int], special_ids: frozenset[int]) -> list[int]:
    return [token_id for token_id in ids if token_id in special_ids]
