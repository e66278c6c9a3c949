"""The records a run leaves behind: what was asked (`RunSpec`), what each step was (`Step`), all of it (`Trace`).

All are frozen and hold no automaton, model or tensor, so a trace can be saved, shared and drawn without any of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from engine.errors import Origin

StepKind = Literal["sampled", "forced", "chosen"]
"""sampled: drawn from several allowed tokens; forced: the only allowed token; chosen: taken by hand."""

FinishReason = Literal["complete", "limit", "cancelled", "context"]
"""complete: the end token was taken; limit: `max_tokens` reached; cancelled: by the user; context: the model's window
is full."""


SourceKind = Literal["json_schema", "regex", "gbnf", "lark", "request"]
"""request: the body of a provider's request, whose constraint is looked for."""


@dataclass(frozen=True, slots=True)
class ConstraintSource:
    """The text of a constraint and the options it is compiled with (keyword arguments of `compile_<kind>`)."""

    kind: SourceKind
    text: str
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Sampler:
    """How a token is drawn from the masked distribution. Temperature 0 is greedy; top_k 0, top_p 1 switch those off."""

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class RunSpec:
    """Everything a run depends on: the same spec gives the same trace on the same machine.

    `constraint` None is a free run. `choices` are (step index, token id) pairs taken by hand instead of sampled.
    """

    prompt: str
    constraint: ConstraintSource | None = None
    chat_template: bool = True
    sampler: Sampler = Sampler()
    max_tokens: int = 128
    policy: Literal["bridging"] = "bridging"
    choices: tuple[tuple[int, int], ...] = ()
    model: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One token of the vocabulary at one step.

    `raw`: the model's probability at temperature 1; `renormalised`: the same divided by Z, 0.0 if masked;
    `sampling`: the probability it was drawn with (after temperature, top-k, top-p; 0.0 if cut).
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

    `offset`: bytes of output before this token. `before`: the automaton's state before it, in words; `origins`: the
    parts of the source that speak there. `z`: allowed mass at temperature 1 before truncation, `cost`: -ln z.
    Entropies in nats. `candidates`: the model's favourites, the allowed favourites and the token taken, by rank.
    `top2_gap`: difference of the two largest allowed logits (infinite if only one is allowed); `draw_distance`: how far
    the draw was from the next token's share, 1.0 where nothing was drawn (both say how safely this choice repeats under
    float noise). `seconds`: by phase ("forward", "mask", "sample").
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
    seconds: dict[str, float] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Trace:
    """A run, complete or in progress. `text` is the output's bytes (end token excluded).

    `missing`: what the automaton still wanted, in words, if the run ended early. `run_id` is a digest of the spec.
    `prompt_tokens` are (id, bytes) pairs as the model read them; a special token shows its name.
    """

    spec: RunSpec
    run_id: str
    model: str
    vocabulary_size: int
    prompt_tokens: tuple[tuple[int, bytes], ...]
    steps: tuple[Step, ...]
    finish: FinishReason | None = None
    missing: str = ""

    @property
    def text(self) -> bytes:
        return b"".join(step.token for step in self.steps if not step.end)

    @property
    def cost(self) -> float:
        """Running total of -ln Z over the steps, in nats."""
        return sum(step.cost for step in self.steps)
