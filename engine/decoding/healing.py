"""Token healing: the end of a prompt is decoded again, so that its last token may be one that reaches beyond it.

A prompt that stops in the middle of what the tokenizer writes as one token (`http:` before `//`, a trailing space)
ends in a token the model has rarely seen there. So the last tokens are taken back, and the run must first spell their
bytes again, with whichever tokens it likes (Lundberg, "The Art of Prompt Design: Prompt Boundaries and Token Healing",
2023).
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.decoding.records import Healing
from engine.vocabulary import Vocabulary


def taken_back(prompt: Sequence[int], vocabulary: Vocabulary, healing: Healing) -> int:
    """How many of the prompt's last tokens are decoded again.

    `auto`: those that hold the longest end of the prompt with which a longer token begins. A number is cut to what can
    be taken back: special tokens are never crossed, and one token always stays for the model to read.
    """
    spelled = [vocabulary.tokens[token_id] for token_id in prompt]
    plain = next((count for count, token in enumerate(reversed(spelled)) if not token), len(spelled))
    most = min(plain, len(prompt) - 1)
    if healing != "auto":
        return min(healing, most)
    end = b"".join(spelled[len(spelled) - most :])
    open_bytes = next((n for n in range(min(len(end), vocabulary.longest), 0, -1) if _goes_on(vocabulary, end[-n:])), 0)
    count = 0
    while open_bytes > 0:  # back to a boundary between tokens
        count += 1
        open_bytes -= len(spelled[-count])
    return count


def _goes_on(vocabulary: Vocabulary, data: bytes) -> bool:
    """Whether some token begins with these bytes and has more."""
    node = vocabulary.trie.find(data)
    return node is not None and int(vocabulary.trie.skip[node]) > node + 1
