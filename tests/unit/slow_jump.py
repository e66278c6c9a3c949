"""Jump-forward, the slow way: an independent reference.

Forced bytes are found by trying all 256, tokenised by the Hugging Face tokenizer, and fed one forward pass at a time.
"""

from __future__ import annotations

from typing import Any

from engine.constraint import Constraint
from engine.decoding.records import RunSpec
from engine.decoding.sampler import distributions, draw
from engine.masking import Masker


def slow_jump(model: Any, spec: RunSpec, constraint: Constraint) -> list[int]:
    """The tokens of a run of `spec` with safe jumps. `model` has a `tokenizer`."""
    masker, vocabulary = Masker(constraint, model.vocabulary), model.vocabulary
    cache, tokens, state = model.new_cache(), list[int](), constraint.start
    logits = model.extend(cache, model.encode(spec.prompt, spec.chat_template), 1)[-1]
    while len(tokens) < spec.max_tokens and not (tokens and tokens[-1] in vocabulary.end_ids):
        ids = _forced_tokens(model, constraint, state)
        if not ids:
            found = distributions(logits, masker.mask(state).to_bool(), spec.sampler)
            ids = [draw(found.sampling, spec.sampler, len(tokens)).token_id]
        for token_id in ids[: spec.max_tokens - len(tokens)]:
            after = masker.advance(state, token_id)
            assert after is not None
            tokens.append(token_id)
            state = after
            logits = model.extend(cache, [token_id], 1)[-1]
    return tokens


def _forced_tokens(model: Any, constraint: Constraint, state: int) -> list[int]:
    forced, after = b"", state
    while not constraint.is_accepting(after):
        ways = _next_bytes(constraint, after)
        if len(ways) != 1:
            break
        forced += bytes(ways)
        after = _advanced(constraint, after, bytes(ways))
    text = forced.decode(errors="ignore")
    if not text or not forced.startswith(text.encode()):
        return []
    ids: list[int] = model.tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    tokens = model.vocabulary.tokens
    last = tokens[ids[-1]]
    longer = {token[len(last)] for token in tokens if len(token) > len(last) and token.startswith(last)}
    following = _next_bytes(constraint, _advanced(constraint, state, text.encode()))
    return ids[:-1] if longer & set(following) else ids


def _next_bytes(constraint: Constraint, state: int) -> list[int]:
    return [byte for byte in range(256) if constraint.advance(state, bytes([byte])) is not None]


def _advanced(constraint: Constraint, state: int, data: bytes) -> int:
    after = constraint.advance(state, data)
    assert after is not None
    return after
