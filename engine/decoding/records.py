"""The records a run leaves behind: what was asked (`RunSpec`), what each step was (`Step`), all of it (`Trace`).

All are frozen and hold no automaton, model or tensor, so a trace can be saved, shared and drawn without any of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Literal

from engine.errors import Origin

StepKind = Literal["sampled", "forced", "chosen", "healed", "jumped"]
"""sampled: drawn from several allowed tokens; forced: the only allowed token; chosen: taken by hand; healed: spells the
end of the prompt again; jumped: spells bytes that the constraint forces, without a forward pass of its own."""

Policy = Literal["bridging", "aligned", "canonical"]
"""bridging: every token that keeps the constraint completable; aligned: none that crosses a boundary between two
terminals of the grammar; canonical: none that leaves the tokenizer's own tokenisation of the text."""

JumpForward = Literal["off", "safe", "naive"]
"""safe: forced bytes become tokens at once, the last one that a following byte could extend excepted; naive: all of
them do, as many an implementation has it."""

Healing = int | Literal["auto"]
"""Tokens of the prompt's end that are taken back and decoded again; auto: as many as might have been spelled
otherwise."""

FinishReason = Literal["complete", "limit", "cancelled", "context"]
"""complete: the end token was taken; limit: `max_tokens` reached; cancelled: by the user; context: the model's window
is full."""


SourceKind = Literal["json_schema", "regex", "gbnf", "lark", "request"]
"""request: the body of a provider's request, whose constraint is looked for."""


@dataclass(frozen=True, slots=True)
class ConstraintSource:
    """The text of a constraint and the options it is compiled with (keyword arguments of `compile_<kind>`).

    `after`: the delimiter after whose first occurrence the constraint holds, free text before it; "" if it holds from
    the start. `free_after`: free text again after the constraint's end.
    """

    kind: SourceKind
    text: str
    options: tuple[tuple[str, str], ...] = ()
    after: str = ""
    free_after: bool = False


@dataclass(frozen=True, slots=True)
class Sampler:
    """How a token is drawn from the masked distribution. Temperature 0 is greedy; top_k 0, top_p 1, min_p 0 switch
    those off. `min_p`: tokens with less than this part of the favourite's probability are cut."""

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0
    min_p: float = 0.0


@dataclass(frozen=True, slots=True)
class RunSpec:
    """Everything a run depends on: the same spec gives the same trace on the same machine.

    `constraint` None is a free run. `choices` are (step index, token id) pairs taken by hand instead of sampled.
    `max_tokens` counts every token written, healed ones and the end token included. `close_in_time`: only tokens after
    which the text can still be completed within it.
    """

    prompt: str
    constraint: ConstraintSource | None = None
    chat_template: bool = True
    sampler: Sampler = Sampler()
    max_tokens: int = 128
    policy: Policy = "bridging"
    choices: tuple[tuple[int, int], ...] = ()
    model: str = ""
    healing: Healing = 0
    jump_forward: JumpForward = "off"
    close_in_time: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """One token of the vocabulary at one step.

    `raw`: the model's probability at temperature 1; `renormalised`: the same divided by Z, 0.0 if masked;
    `sampling`: the probability it was drawn with (after temperature, top-k, top-p, min-p; 0.0 if cut).
    `rank`: 0 is the model's favourite. `end`: an end token. `name`: how a token without bytes is shown
    (`<|im_end|>`), "" for every other.
    """

    token_id: int
    token: bytes
    rank: int
    raw: float
    renormalised: float
    sampling: float
    allowed: bool
    end: bool = False
    name: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One token of a run and why it was possible.

    `offset`: bytes written before this token, a healed prefix included; `owed`: what of that prefix is still to be
    spelled. `before`: the automaton's state before it, in words; `origins`: the parts of the source that speak there.
    `z`: allowed mass at temperature 1 before truncation, `cost`: -ln z. Entropies in nats. `candidates`: the model's
    favourites, the allowed favourites and the token taken, by rank. `top2_gap`: difference of the two largest allowed
    logits (infinite if only one is allowed); `draw_distance`: how far the draw was from the next token's share, 1.0
    where nothing was drawn (both say how safely this choice repeats under float noise). `narrowed`: tokens that the
    mask alone would allow and the policy or the token limit took away; `fallback`: the policy left nothing, so that it
    was put aside for this step. `to_end`: where the run closes in time, an upper bound of the tokens to an accepted
    end, the end token included; `to_end_exact`: it is the exact number. `seconds`: by phase ("jump", "forward", "mask",
    "sample").
    """

    index: int
    offset: int
    token_id: int
    token: bytes
    kind: StepKind
    end: bool
    before: str
    origins: tuple[Origin, ...]
    candidates: tuple[Candidate, ...]
    allowed_count: int
    z: float
    cost: float
    raw_entropy: float
    renormalised_entropy: float
    rank: int
    raw: float
    renormalised: float
    argmax_id: int
    argmax: bytes
    argmax_masked: bool
    argmax_origins: tuple[Origin, ...]
    top2_gap: float
    draw_distance: float
    owed: bytes = b""
    narrowed: int = 0
    fallback: bool = False
    to_end: int | None = None
    to_end_exact: bool = False
    seconds: dict[str, float] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Healed:
    """What healing took back: `removed`, (id, bytes) pairs from the prompt's end, which spell `prefix`.

    `candidates`: the model's favourites, and the allowed ones, as they were after the whole prompt.
    """

    removed: tuple[tuple[int, bytes], ...]
    prefix: bytes
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """A run, complete or in progress. `text` is the output's bytes (end token and healed prefix excluded).

    `missing`: what the automaton still wanted, in words, if the run ended early. `run_id` is a digest of the spec.
    `prompt_tokens` are (id, bytes) pairs as the model read them; a special token shows its name. `healed`: what was
    taken back from the prompt, None if nothing was.
    """

    spec: RunSpec
    run_id: str
    model: str
    vocabulary_size: int
    prompt_tokens: tuple[tuple[int, bytes], ...]
    steps: tuple[Step, ...]
    finish: FinishReason | None = None
    missing: str = ""
    healed: Healed | None = None

    @property
    def text(self) -> bytes:
        return self.text_before(len(self.steps))

    def text_before(self, index: int) -> bytes:
        """The output's bytes before step `index`: what the constraint has read of it."""
        written = b"".join(step.token for step in self.steps[:index] if not step.end)
        return written[len(self.healed.prefix) :] if self.healed else written

    @property
    def cost(self) -> float:
        """Running total of -ln Z over the steps, in nats."""
        return sum(step.cost for step in self.steps)

    @property
    def passes(self) -> int:
        """Forward passes; jumped tokens share the one of the step that follows them."""
        return len(self._by_pass())

    @property
    def seconds_saved(self) -> float:
        """Time that jumping saved: a pass for each jumped token, less what reading them together took longer."""
        later = self._by_pass()[1:]  # the first pass reads the prompt
        alone = [seconds for jumped, seconds in later if not jumped]
        if not alone:
            return 0.0
        single = median(alone)
        return sum(single * jumped - (seconds - single) for jumped, seconds in later if jumped)

    def _by_pass(self) -> list[tuple[int, float]]:
        """Jumped tokens and seconds of each forward pass."""
        passes: list[tuple[int, float]] = []
        open_pass = False
        for step in self.steps:
            jumped, seconds = passes.pop() if open_pass else (0, 0.0)
            open_pass = step.kind == "jumped"
            passes.append((jumped + open_pass, seconds + step.seconds.get("forward", 0.0)))
        return passes
