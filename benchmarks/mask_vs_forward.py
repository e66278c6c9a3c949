"""What constraining costs: mask and advance per token against one forward pass of the bundled model.

    python -m benchmarks.mask_vs_forward [EXAMPLE ...]

Runs every constrained example twice with one Masker: cold (its first masks, the constraint just compiled), then warm
(the same masks again). Forward passes are those of single tokens (the prompt's is left out). Bars: the sum of mask and
advance below 20 % of the forward passes cold, below 2 % warm.
"""

from __future__ import annotations

import sys
from statistics import mean, median

from engine.decoding.decoder import Decoder
from engine.decoding.records import Step
from engine.examples import EXAMPLES, Example
from engine.grammar.sources import compile_source
from engine.masking import Masker
from engine.model import load_model
from engine.model.model import Model

COLD, WARM = 0.20, 0.02


def steps_of(entry: Example, model: Model, masker: Masker) -> list[Step]:
    run = Decoder(model, entry.spec(), masker.constraint, masker)
    return list(run.run())


def warm_up(model: Model) -> None:
    """Load the compiled walk; it is compiled once per installation."""
    entry = next(entry for entry in EXAMPLES if entry.constraint)
    assert entry.constraint is not None
    masker = Masker(compile_source(entry.constraint), model.vocabulary)
    masker.mask(masker.constraint.start)


def main(names: list[str]) -> int:
    model = load_model()
    warm_up(model)
    totals: dict[str, list[float]] = {"cold": [], "warm": [], "forward": []}
    print(f"{'example':28} {'steps':>5} {'forward ms':>10} {'cold ms':>8} {'max':>6} {'warm ms':>8}    cold    warm")
    for entry in EXAMPLES:
        if entry.constraint is None or (names and entry.name not in names):
            continue
        masker = Masker(compile_source(entry.constraint), model.vocabulary)
        cold_steps, warm_steps = steps_of(entry, model, masker), steps_of(entry, model, masker)
        forward = [1000 * step.seconds["forward"] for step in (*cold_steps[1:], *warm_steps[1:])]
        cold = [1000 * step.seconds["mask"] for step in cold_steps]
        warm = [1000 * step.seconds["mask"] for step in warm_steps]
        totals["cold"] += cold
        totals["warm"] += warm
        totals["forward"] += forward
        typical = median(forward)
        print(
            f"{entry.name:28} {len(cold):5} {typical:10.1f} {mean(cold):8.3f} {max(cold):6.1f} {mean(warm):8.4f}"
            f" {mean(cold) / typical:7.2%} {mean(warm) / typical:7.3%}"
        )
    typical = median(totals["forward"])
    for name, bar in (("cold", COLD), ("warm", WARM)):
        spent = mean(totals[name])
        share = f"{spent / typical:.3%} of a forward pass ({typical:.1f} ms)"
        print(f"{name}: {spent:.4f} ms a token, {share}; bar {bar:.0%}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
