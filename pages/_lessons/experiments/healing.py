"""Token healing: a prompt that ends inside a token, read as it is, and with its last tokens decoded again."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import streamlit as st

from engine.analysis.bonus import kept_under_bonus
from engine.analysis.retokenised import recorded_log_probabilities
from engine.analysis.tokenisations import extensible, prefix_related
from engine.analysis.two_cuts import Piece, Stretch
from engine.decoding.decoder import Decoder
from engine.decoding.healing import taken_back
from engine.decoding.records import Candidate, RunSpec, Step, Trace
from pages._debug_work import Progress
from pages._lessons.fields import Fields, Value
from pages._lessons.live import cost, the_model
from pages._lessons.reader import Lesson
from pages._lessons.recorded import recorded_run, recorded_values
from pages._lessons.room import shared
from pages._lessons.steps import door
from pages._model import loading
from visualizations.charts import bars, curve
from visualizations.lesson_automata import tokens
from visualizations.paths import paths
from visualizations.tokens import candidate_text, percent, visible

if TYPE_CHECKING:  # torch comes with it
    from engine.model.model import Model
    from engine.vocabulary import Vocabulary

FIELDS = {
    "prompt": "the prompt with a space at its end",
    "before_first": "the model's favourite after it",
    "before_share": "the probability of that",
    "before_text": "what it wrote",
    "removed": "the token that healing takes back",
    "after_first": "the favourite among the tokens that spell it again",
    "after_share": "its probability among all tokens",
    "after_text": "what the healed run wrote",
    "address": "the prompt that ends in a part of an address",
    "address_first": "the favourite after it as it is",
    "address_share": "the probability of that",
    "address_healed": "the favourite after taking one token back",
    "address_healed_share": "the probability of that",
    "address_far": "how the run spelled the end of that prompt after taking two tokens back",
    "name": "the prompt that ends inside a name",
    "name_first": "the favourite after it as it is",
    "name_share": "the probability of that",
    "name_healed": "the favourite after taking one token back",
    "name_healed_share": "its share of the tokens that spell the prompt's end",
    "quote": "the prompt that ends with an open quote",
    "quote_healed": "the favourite after taking one token back: the same token as before",
    "word": "the prompt that ends inside a word",
    "word_spelled": "how the healed run spelled its end",
    "word_text": "what it went on with",
    "word_share": "the probability of the first token of that spelling",
    "word_z": "the mass of all tokens that may begin the spelling",
    "tokens": "tokens of the vocabulary that spell text",
    "extensible": "how many of them are the beginning of a longer one",
    "extensible_share": "their share",
    "bonus": "what generate(token_healing=True) adds to the logits of the tokens that it wants",
    "bonus_kept": "the probability that this keeps the end of the prompt inside a word",
    "stripped": "the token that it heals of the prompt with the space, which it strips",
}

PROMPTS = {
    "space": "The capital of France is ",
    "address": "The page is at http:",
    "name": "My favourite programming language is Py",
    "quote": 'She said: "',
    "word": "Merry Christ",
}
LABELS = {
    "space": "a space at the end",
    "address": "a part of an address",
    "name": "a part of a name",
    "quote": "an open quote",
    "word": "a part of a word",
}
MOST = 3  # tokens that are taken back
WRITTEN = 8  # tokens beyond those
BONUS = 10.0  # `heal_tokens` of transformers: sequence_bias of each token that begins with the last one of the prompt
SHOWN = 6  # tokens of the prompt that stay in the picture


def _spec(prompt: str, back: int) -> RunSpec:
    return RunSpec(prompt, None, chat_template=False, max_tokens=WRITTEN + back, healing=back)


RUNS: Mapping[str, RunSpec] = {
    f"{name}-{back}": _spec(prompt, back) for name, prompt in PROMPTS.items() for back in range(MOST + 1)
}


def computed(model: Model, traces: Mapping[str, Trace]) -> Any:
    """What the vocabulary says of the prompts' ends."""
    vocabulary = model.vocabulary
    found = {}
    for name, prompt in PROMPTS.items():
        last = model.encode(prompt, chat_template=False)[-1]
        longer = [vocabulary.tokens[token_id].decode("latin-1") for token_id in _longer(vocabulary, last)]
        found[name] = {"back": _auto(model, prompt), "count": len(longer), "longer": longer[:60]}
    stripped = model.encode(PROMPTS["space"].strip(), chat_template=False)[-1]
    return {
        "prompts": found,
        "tokens": sum(bool(token) for token in vocabulary.tokens),
        "extensible": int(extensible(vocabulary).sum()),
        "stripped": vocabulary.tokens[stripped].decode("latin-1"),
    }


@lru_cache(maxsize=1)
def facts() -> Fields:
    """All of it, from the recorded runs and the counts of the bundled vocabulary."""
    plain, healed = _recorded("space")[0], _recorded("space")[1]
    values = recorded_values("healing")
    fields: dict[str, Value] = {name: prompt for name, prompt in PROMPTS.items() if name != "space"}
    word = _recorded("word")[1]
    assert healed.healed is not None
    fields |= {
        "prompt": PROMPTS["space"],
        **_favourite("before_first", "before_share", _first(plain)),
        "before_text": plain.text.decode(errors="replace"),
        "removed": visible(healed.healed.prefix),
        **_favourite("after_first", "after_share", _first(healed)),
        "after_text": healed.text.decode(errors="replace"),
        **_favourite("address_first", "address_share", _first(_recorded("address")[0])),
        **_favourite("address_healed", "address_healed_share", _first(_recorded("address")[1])),
        "address_far": _spelled(_recorded("address")[2]),
        **_favourite("name_first", "name_share", _first(_recorded("name")[0])),
        "name_healed": candidate_text(_first(_recorded("name")[1])),
        "name_healed_share": _first(_recorded("name")[1]).renormalised,
        "quote_healed": candidate_text(_first(_recorded("quote")[1])),
        "word_spelled": _spelled(word),
        "word_text": word.text.decode(errors="replace"),
        "word_share": _first(word).raw,
        "word_z": word.steps[0].z,
        "tokens": values["tokens"],
        "extensible": values["extensible"],
        "extensible_share": values["extensible"] / values["tokens"],
        "bonus": BONUS,
        "bonus_kept": kept_under_bonus(word.steps[0].z, BONUS),
        "stripped": visible(values["stripped"].encode("latin-1")),
    }
    return fields


def opening(lesson: Lesson, key: str) -> None:
    """The prompt as the tokenizer cuts it."""
    cut = [token for _, token in _recorded("space")[0].prompt_tokens]
    tokens(cut, len(cut), key=key, heading="The prompt, token by token", marked=[cut[-1]])


def experiment(lesson: Lesson, key: str) -> Fields:
    """A prompt's end as it is and healed; the vocabulary's prefixes; a bonus instead of a mask."""
    model = the_model()
    st.markdown("#### Continue as it is, or back up")
    _runs(model, f"{key}_runs")
    st.markdown("#### How many tokens are the beginning of another one?")
    _vocabulary(model, f"{key}_vocabulary")
    st.markdown("#### A bonus instead of a mask")
    _bonus(f"{key}_bonus")
    return facts()


def check(fields: Fields, given: str) -> str:
    """The exercise: an end of a prompt of which more than one token must be taken back."""
    if not given:
        return "Type the end of a prompt."
    model = loading().model
    if model is None:
        return "The check asks the tokenizer, and the model it belongs to is not there yet."
    ids = model.canonical.encode(given.encode(errors="replace"))
    if ids is None:
        return "The tokenizer does not give this text back."
    back, cut = _auto(model, given), " ".join(visible(model.vocabulary.tokens[token_id]) for token_id in ids)
    if back > 1:
        return ""
    if back == 0:
        return f"This is cut into {cut}, and no token of the vocabulary goes on from any end of it: nothing to heal."
    return f"This is cut into {cut}: one token back is enough."


def _auto(model: Model, text: str) -> int:
    """The tokens that automatic healing takes back of a prompt that ends with `text`."""
    vocabulary = model.vocabulary
    ids = model.canonical.encode(text.encode(errors="replace")) or ()
    return taken_back((min(vocabulary.end_ids), *ids), vocabulary, "auto")  # the first one stands for what is before


def _longer(vocabulary: Vocabulary, token_id: int) -> tuple[int, ...]:
    return prefix_related(vocabulary, token_id).longer


def _recorded(name: str) -> list[Trace]:
    return [recorded_run("healing", f"{name}-{back}") for back in range(MOST + 1)]


def _first(trace: Trace) -> Candidate:
    """The favourite at the first step, among what is allowed."""
    return min((c for c in trace.steps[0].candidates if c.allowed), key=lambda c: c.rank)


def _favourite(name: str, share: str, candidate: Candidate) -> dict[str, Value]:
    return {name: candidate_text(candidate), share: candidate.raw}


def _healed_steps(trace: Trace) -> list[Step]:
    return [step for step in trace.steps if step.owed]


def _spelled(trace: Trace) -> str:
    return "|".join(visible(step.token) for step in _healed_steps(trace))


def _runs(model: Model | None, key: str) -> None:
    name = st.segmented_control(
        "The prompt ends with",
        list(LABELS),
        format_func=LABELS.__getitem__,
        default="space",
        key=f"{key}_prompt",
        required=True,
    )
    traces = _own(model, f"{key}_own") or _recorded(name)
    back = st.slider("Tokens to take back", 0, MOST, 1, key=f"{key}_back")
    plain, trace = traces[0], traces[back]
    st.code(visible(plain.spec.prompt), language=None)
    _draw(plain, trace, key)
    live = plain.spec.prompt not in PROMPTS.values()
    _said(trace, recorded_values("healing")["prompts"][name]["back"] if not live else _auto_of(model, plain))
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**Before**: the model's favourites after the whole prompt")
        first = sorted(plain.steps[0].candidates, key=lambda c: c.rank)[:6]
        series = {"the model": [c.raw for c in first]}
        bars([candidate_text(c) for c in first], series, key=f"{key}_before", form=".1%", largest=1.0)
    with right:
        if trace.healed is None:
            st.markdown("**After**: nothing is taken back")
        else:
            st.markdown(f"**After**: {len(trace.healed.removed)} back; tokens that agree with the prompt's end")
            first = sorted((c for c in trace.steps[0].candidates if c.allowed), key=lambda c: c.rank)[:6]
            series = {"the model": [c.raw for c in first], "after the mask": [c.renormalised for c in first]}
            bars([candidate_text(c) for c in first], series, key=f"{key}_after", form=".1%", largest=1.0)
    st.caption(
        f"{'Live' if live else 'Recorded'} runs {plain.run_id} and {trace.run_id}, {trace.model}, no chat template."
    )
    door(trace.spec, 0, "The run with healing in Step-through", key=f"{key}_door")


def _auto_of(model: Model | None, trace: Trace) -> int:
    return 0 if model is None else _auto(model, trace.spec.prompt)


def _own(model: Model | None, key: str) -> list[Trace] | None:
    with st.expander("A prompt of your own", key=f"{key}_open"):
        prompt = st.text_input(
            "Prompt (a space at its end counts; empty: the one picked above)", "", key=f"{key}_prompt", max_chars=300
        )
        if model is None or not prompt.strip():
            return None

        def work(progress: Progress) -> list[Trace]:
            made = []
            for back in range(MOST + 1):
                run = Decoder(model, _spec(prompt, back))
                for step in run.run(progress.stopped):
                    progress.say(f"{back} back: token {step.index + 1}", back / (MOST + 1))
                if progress.stopped() or not run.trace.steps:
                    break
                made.append(run.trace)
            return made

        passes = sum(WRITTEN + back for back in range(MOST + 1))
        said = f"Runs with nothing to {MOST} tokens taken back. {cost(passes)}"
        return shared(("healing", model.name, prompt), "Run", said, work, key=key)


def _draw(plain: Trace, trace: Trace, key: str) -> None:
    """The prompt's last tokens and what was written, healed above and as it is below."""
    kept = trace.prompt_tokens[-SHOWN:]
    removed = trace.healed.removed if trace.healed else ()
    same = tuple(Piece(token, None) for _, token in kept)
    written = recorded_log_probabilities(trace.steps)
    upper = tuple(Piece(step.token, written[step.index], None, bool(step.owed)) for step in trace.steps if not step.end)
    as_it_is = recorded_log_probabilities(plain.steps)
    lower = (
        *(Piece(token, None) for _, token in removed),
        *(Piece(step.token, as_it_is[step.index]) for step in plain.steps if not step.end),
    )
    names = ("healed" if removed else "as it is", "as it is")
    crosses = "spells the end of the prompt again"
    stretches = [Stretch(same, same), Stretch(upper, lower)]
    paths(stretches, names=names, current=None, key=f"{key}_paths", on_step=lambda: None, crosses=crosses)


def _said(trace: Trace, auto: int) -> None:
    """That the prompt's bytes are all there, and how far automatic healing goes back."""
    automatic = f"Automatic healing takes {auto} back here."
    if trace.healed is None:
        st.caption(f"The prompt stays as the tokenizer cut it. {automatic}")
        return
    spelled = b"".join(step.token for step in _healed_steps(trace))
    intact = "✓ every byte of the prompt is preserved" if spelled.startswith(trace.healed.prefix) else "cut short"
    st.caption(
        f"{len(trace.healed.removed)} taken back, {len(trace.healed.prefix)} bytes spelled again: {intact}. {automatic}"
    )


def _vocabulary(model: Model | None, key: str) -> None:
    values = recorded_values("healing")
    left, right = st.columns([2, 3], gap="medium")
    with left:
        share = values["extensible"] / values["tokens"]
        st.metric(
            "Tokens with which another one begins",
            f"{values['extensible']:,} of {values['tokens']:,}",
            percent(share),
            delta_color="off",
            delta_arrow="off",
        )
        end = st.text_input("The end of a prompt", ":", key=f"{key}_end", max_chars=40, disabled=model is None)
    with right:
        if model is None or not end or end == ":":
            found = values["prompts"]["address"]
            longer = [token.encode("latin-1") for token in found["longer"]]
            tokens(
                longer, found["count"], key=f"{key}_longer", heading=f"{found['count']:,} tokens begin with : and go on"
            )
            return
        ids = model.canonical.encode(end.encode(errors="replace"))
        if not ids:
            st.caption("The tokenizer does not give this text back.")
            return
        vocabulary = model.vocabulary
        back = _auto(model, end)
        st.caption(f"The tokenizer cuts this into {len(ids)}; automatic healing takes {back} back.")
        tokens([vocabulary.tokens[i] for i in ids], len(ids), key=f"{key}_cut", heading="Its tokens", marked=[])
        after = _longer(vocabulary, ids[-1])
        heading = f"{len(after):,} tokens begin with the last one and go on"
        tokens([vocabulary.tokens[i] for i in after[:60]], len(after), key=f"{key}_longer", heading=heading)


def _bonus(key: str) -> None:
    name = st.segmented_control(
        "One token of this prompt is taken back",
        list(LABELS),
        format_func=LABELS.__getitem__,
        default="word",
        key=f"{key}_prompt",
        required=True,
    )
    z = _recorded(name)[1].steps[0].z
    bonus = st.slider("Bonus added to the logits of the wanted tokens", 0.0, 20.0, BONUS, 0.5, key=f"{key}_size")
    kept = kept_under_bonus(z, bonus)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        places = [step / 4 for step in range(81)]
        series = {"bonus": [kept_under_bonus(z, place) for place in places], "mask": [1.0 for _ in places]}
        curve(
            places,
            series,
            key=f"{key}_curve",
            x_title="bonus",
            y_title="the prompt's end is spelled",
            y_form=".0%",
            marks=[(bonus, kept, percent(kept))],
        )
    with right:
        st.metric("The prompt survives the first token with", f"{kept:.4%}")
        st.metric("Mass of the wanted tokens, Z", f"{z:.3g}")
        st.caption(f"Recorded: {visible(PROMPTS[name])}")
