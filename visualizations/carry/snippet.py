"""A run as a Python program for Hugging Face transformers."""

from __future__ import annotations

from engine.decoding.records import ConstraintSource, Trace
from engine.model.bundled import NAME

_LOAD = """import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
{imports}
folder = {folder}
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
prompt = torch.tensor([{prompt}])
"""

_GREEDY = """{constraint}out = model.generate(
    prompt,
    attention_mask=torch.ones_like(prompt),
    logits_processor=[{processor}],
    do_sample=False,
    max_new_tokens={limit},
    eos_token_id={ends},
    pad_token_id={pad},
)
tokens = out[0, prompt.shape[1] :].tolist()
print(tokenizer.decode(tokens, skip_special_tokens=True))
assert tokens == {tokens}, "another machine's floats may part where two tokens are nearly equal"
"""

_REPLAY = """tokens = {tokens}
with torch.inference_mode():
    logits = model(torch.cat([prompt, torch.tensor([tokens])], dim=1)).logits[0, prompt.shape[1] - 1 : -1]
for token, row in zip(tokens, logits.log_softmax(-1)):
    print(f"{{row[token].exp():.4f}}", repr(tokenizer.decode([token])))
"""


def reproduces(trace: Trace) -> bool:
    """Whether `generate` takes the same tokens by itself; else the program replays the recorded ones."""
    spec = trace.spec
    plain = spec.policy == "bridging" and spec.jump_forward == "off" and not spec.close_in_time
    return plain and spec.sampler.temperature == 0 and not spec.choices and trace.healed is None and bool(trace.steps)


def snippet(trace: Trace, end_ids: tuple[int, ...]) -> str:
    """The program. `end_ids`: the model's end tokens. Text of the user's stands in it as string literals only."""
    bundled = trace.model == NAME
    source = trace.spec.constraint if reproduces(trace) else None
    imports = ["from engine.model.bundled import bundled_model"] if bundled else []
    if source is not None:
        imports = [
            "from engine import compile_source",
            "from engine.decoding.records import ConstraintSource",
            "from engine.hf import ConstrainedLogitsProcessor",
            *imports,
        ]
    head = _LOAD.format(
        imports="".join(f"{line}\n" for line in ["", *imports]) if imports else "",
        folder="bundled_model(print)" if bundled else f"{trace.model!r}  # where the model lies, or its hub id",
        prompt=[token_id for token_id, _ in trace.prompt_tokens],
    )
    tokens = [step.token_id for step in trace.steps]
    if not reproduces(trace):
        said = "# Replays the recorded tokens with the model's probability of each: this run was not plain greedy.\n"
        return said + head + _REPLAY.format(tokens=tokens)
    ends = list(end_ids)
    body = _GREEDY.format(
        constraint=_constraint(source) if source else "",
        processor=f"ConstrainedLogitsProcessor(constraint, tokenizer, {ends})" if source else "",
        limit=trace.spec.max_tokens,
        ends=ends,
        pad=ends[0],
        tokens=tokens,
    )
    return "# Reproduces the run: greedy, so that generate takes the same tokens.\n" + head + body


def _constraint(source: ConstraintSource) -> str:
    return (
        "source = ConstraintSource(\n"
        f"    {source.kind!r},\n    {source.text!r},\n    {source.options!r},\n"
        f"    after={source.after!r},\n    free_after={source.free_after!r},\n)\n"
        "constraint = compile_source(source)\n"
    )
