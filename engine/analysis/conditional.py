"""What the model would say if it had to keep to a finite language, beside what a mask makes it say.

P(text | language) is the model's own distribution with the rest of the world taken away: P(text) divided by the sum
over all texts of the language. A mask does something else: it takes the rest away step by step and renormalises each
time, so a beginning that the model likes keeps all its mass even where every continuation of it that the grammar allows
is one the model would hardly write (grammar-aligned decoding, Park et al. 2024, arXiv 2405.21047). Here both are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from engine.analysis.language import LanguageError, list_texts
from engine.analysis.path_tree import END, Prefix, Tree, allowed_path, bridging_tree, path_tree, read_tree
from engine.decoding.errors import DecodingError
from engine.decoding.records import Sampler
from engine.decoding.sampler import Floats, distributions
from engine.masking import Masker

if TYPE_CHECKING:
    from engine.model.model import Model

Over = Literal["all", "canonical"]
"""Whose probability a text has. all: the sum over all its tokenisations; canonical: that of the tokenizer's own one."""

MOST_TEXTS = 1_000
MOST_PREFIXES = 4_000

TEMPERATURE_ONE = Sampler(temperature=1.0)


@dataclass(frozen=True, slots=True)
class WeighedText:
    """A text of the language, its probabilities as natural logarithms.

    `log_raw`: P(text), the end token included; `log_exact`: P(text | language); `log_masked`: the probability that a
    masked run at temperature 1 writes it; `paths`: the tokenisations that count, 0 where none does (all three are then
    -inf): the vocabulary cannot spell the text, or it has no canonical tokenisation.
    """

    text: bytes
    paths: int
    log_raw: float
    log_exact: float
    log_masked: float

    @property
    def exact(self) -> float:
        """P(text | language)."""
        return math.exp(self.log_exact)

    @property
    def masked(self) -> float:
        """The probability that a masked run at temperature 1 writes the text."""
        return math.exp(self.log_masked)


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """What a masked run draws from after a prefix: float64 (k,), the shares of its k ids; `cost` is -ln Z there."""

    shares: Floats
    cost: float


@dataclass(frozen=True, slots=True)
class Conditional:
    """The exact and the masked distribution over the texts of a finite language, the likeliest text first.

    `log_mass`: ln of the probability that the model, left alone, writes a text of the language and ends. Divergences
    in nats; the total variation is half the sum of the absolute differences. `tree` with `spreads`: the token paths and
    what is drawn from after each beginning of one.
    """

    over: Over
    texts: tuple[WeighedText, ...]
    log_mass: float
    kl_masked_exact: float
    kl_exact_masked: float
    total_variation: float
    tree: Tree = field(repr=False, compare=False)
    spreads: tuple[Spread, ...] = field(repr=False, compare=False)


def conditional(
    model: Model,
    prompt: str,
    masker: Masker,
    *,
    over: Over = "all",
    chat_template: bool = True,
    most_texts: int = MOST_TEXTS,
    most_prefixes: int = MOST_PREFIXES,
    progress: Callable[[int, int], None] | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Conditional | None:
    """Both distributions over the texts of the masker's constraint, None if it was cancelled.

    P of a token path is the product of the model's probabilities at temperature 1 and, at its end, of the mass of all
    end tokens. The masked probability of the same path is the product of the probabilities renormalised by the mask.

    over="all": the paths are all those that the mask (policy bridging) allows, and P(text) is the sum over the text's
    paths. The masked distribution sums to one: every beginning of a path can be completed, so no run gets lost. Only
    texts that need a byte without a token of its own may be missing.
    over="canonical": each text has one path, the tokenizer's own, and the mask allows after each beginning just the
    tokens with which the canonical path of some text goes on (policy canonical, with the language known to its end).
    So the masked distribution sums to one here too. The exact ones of the two differ by what the model gives to
    tokenisations that no tokenizer writes.

    `progress` is told how many beginnings of paths are read, of how many.
    Raises LanguageError if there are infinitely many texts, more than `most_texts`, or too many tokenisations;
    DecodingError if the longest does not fit in the model's context or the logits are broken.
    """
    texts = list_texts(masker.constraint, most_texts)
    tree = _tree(model, masker, texts, over, most_prefixes)
    ids = model.encode(prompt, chat_template)
    _check_context(model, len(ids) + max(len(prefix.tokens) for prefix in tree))
    spreads: dict[int, Spread] = {}
    for place, logits in read_tree(model, ids, tree):
        spreads[place] = _spread(logits, tree[place], masker)
        if progress is not None:
            progress(len(spreads), len(tree))
        if cancelled():
            return None
    return _weighed(over, texts, tree, tuple(spreads[place] for place in range(len(tree))))


def kl_divergence(log_left: Floats, log_right: Floats) -> float:
    """KL(left || right) in nats of two distributions given as logarithms, float64 (n,) each; may be infinite."""
    kept = log_left > -math.inf
    return max(0.0, float(np.sum(np.exp(log_left[kept]) * (log_left[kept] - log_right[kept]))))


def total_variation(log_left: Floats, log_right: Floats) -> float:
    """The largest difference in probability that two distributions give to any set of texts."""
    return float(np.abs(np.exp(log_left) - np.exp(log_right)).sum() / 2)


def _tree(model: Model, masker: Masker, texts: Sequence[bytes], over: Over, most: int) -> Tree:
    if over == "all":
        return bridging_tree(masker, most)
    encoded = model.canonical.encode_many(texts)
    paths = [path for path in encoded if path is not None and allowed_path(masker, path)]
    if not paths:
        raise LanguageError('No text of the constraint has a canonical tokenisation. Weigh all tokenisations ("all").')
    return path_tree(paths, masker.vocabulary, most)


def _check_context(model: Model, needed: int) -> None:
    if needed > model.context:
        raise DecodingError(
            f"The prompt and the longest tokenisation take {needed} tokens; the model reads at most {model.context}."
        )


def _spread(logits: NDArray[np.float32], prefix: Prefix, masker: Masker) -> Spread:
    allowed = np.zeros(masker.vocabulary.size, dtype=np.bool_)
    allowed[list(prefix.ids)] = True
    try:
        found = distributions(logits, allowed, TEMPERATURE_ONE)
    except DecodingError as error:
        raise DecodingError(f"After {prefix.text!r}: {error}.") from error
    return Spread(found.renormalised[list(prefix.ids)], found.cost)


def _weighed(over: Over, texts: Iterable[bytes], tree: Tree, spreads: tuple[Spread, ...]) -> Conditional:
    raw: dict[bytes, list[float]] = {text: [] for text in texts}
    masked: dict[bytes, list[float]] = {text: [] for text in texts}
    log_masked, costs = np.zeros(len(tree)), np.zeros(len(tree))
    for place, (prefix, spread) in enumerate(zip(tree, spreads, strict=True)):
        with np.errstate(divide="ignore"):
            log_shares = log_masked[place] + np.log(spread.shares)
        cost = costs[place] + spread.cost
        ends, onward = np.array(prefix.after) == END, list(prefix.children)
        log_masked[onward], costs[onward] = log_shares[~ends], cost
        if ends.any():
            masked[prefix.text].append(_log_sum(log_shares[ends]))
            raw[prefix.text].append(masked[prefix.text][-1] - cost)
    sums = {text: _log_sum(paths) for text, paths in raw.items()}
    mass = _log_sum(list(sums.values()))
    found = [WeighedText(text, len(raw[text]), one, one - mass, _log_sum(masked[text])) for text, one in sums.items()]
    found.sort(key=lambda weighed: (-weighed.log_exact, weighed.text))
    return _compared(over, tuple(found), mass, tree, spreads)


def _compared(
    over: Over, texts: tuple[WeighedText, ...], mass: float, tree: Tree, spreads: tuple[Spread, ...]
) -> Conditional:
    exact = np.array([weighed.log_exact for weighed in texts])
    masked = np.array([weighed.log_masked for weighed in texts])
    return Conditional(
        over=over,
        texts=texts,
        log_mass=mass,
        kl_masked_exact=kl_divergence(masked, exact),
        kl_exact_masked=kl_divergence(exact, masked),
        total_variation=total_variation(masked, exact),
        tree=tree,
        spreads=spreads,
    )


def _log_sum(logarithms: Sequence[float] | Floats) -> float:
    return float(np.logaddexp.reduce(logarithms, initial=-math.inf))
