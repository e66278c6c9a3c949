"""The distributions of one step: as the model gave it, with the mask, renormalised, after temperature, as drawn from.

The columns share one token order (the model's), so an eye can follow a token across. It is a table with bars, so it is
its own text twin. A click on a token selects it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from engine.analysis.attribution import Paid
from engine.analysis.inside import Entropies
from engine.decoding.records import Candidate, Sampler, Step
from engine.errors import Origin
from visualizations.component import Callback, register
from visualizations.tokens import candidate_text, percent, prose

_table = register("distributions")
_shares = register("shares")

PAYERS = 6
"""Parts that are named; what the others pay is one more line."""


def distributions_table(
    step: Step,
    candidates: Sequence[Candidate],
    *,
    sampler: Sampler,
    tempered: Mapping[int, float] | None,
    narrowed: Set[int],
    vocabulary_size: int,
    selected: int,
    key: str,
    on_select: Callback,
) -> None:
    """Draws the `candidates` of `step`.

    `tempered`: their probabilities after temperature, None where they are not known. `narrowed`: those that policy or
    limit took away, not the mask. A click calls `on_select`, step and id in the component's `.select`.
    """
    columns = columns_of(sampler, tempered is not None)
    rows = [
        _row(c, step, tempered or {}) | {"narrowed": c.token_id in narrowed}
        for c in sorted(candidates, key=lambda c: c.rank)
    ]
    data = {
        "columns": [{"name": name, "label": label} for name, label in columns],
        "rows": rows,
        "rest": _rest(step, rows, vocabulary_size),
        "selected": selected,
        "step": step.index,
    }
    _table(key=key, data=data, on_select_change=on_select)


def columns_of(sampler: Sampler, tempered: bool) -> list[tuple[str, str]]:
    """(name, label) of each column: those the sampler makes a difference for, the tempered one only if it is known."""
    columns = [("raw", "Raw"), ("masked", "Masked"), ("renormalised", "Renorm\u00adalised")]
    if sampler.temperature == 0:
        return columns
    warm, cuts = sampler.temperature != 1, _cuts(sampler)
    if warm and (tempered or not cuts):
        columns.append(("tempered" if cuts else "sampling", f"Temperature {sampler.temperature:g}"))
    if cuts:
        columns.append(("sampling", f"After {cuts}"))
    return columns


def _cuts(sampler: Sampler) -> str:
    switched = [
        (sampler.top_k > 0, f"top-k {sampler.top_k}"),
        (sampler.top_p < 1, f"top-p {sampler.top_p:g}"),
        (sampler.min_p > 0, f"min-p {sampler.min_p:g}"),
    ]
    return ", ".join(name for on, name in switched if on)


def _row(candidate: Candidate, step: Step, tempered: Mapping[int, float]) -> dict[str, Any]:
    return {
        "id": candidate.token_id,
        "text": candidate_text(candidate),
        "rank": candidate.rank + 1,
        "raw": candidate.raw,
        "masked": candidate.raw if candidate.allowed else 0.0,
        "renormalised": candidate.renormalised,
        "tempered": tempered.get(candidate.token_id, 0.0),
        "sampling": candidate.sampling,
        "allowed": candidate.allowed,
        "taken": candidate.token_id == step.token_id,
    }


def _rest(step: Step, rows: Sequence[Mapping[str, Any]], vocabulary_size: int) -> dict[str, Any]:
    kept = sum(row["allowed"] for row in rows)
    whole = {"raw": 1.0, "masked": step.z, "renormalised": 1.0, "tempered": 1.0, "sampling": 1.0}
    shares = {name: max(0.0, all_of_it - sum(row[name] for row in rows)) for name, all_of_it in whole.items()}
    return {"count": vocabulary_size - len(rows), "allowed": step.allowed_count - kept, **shares}


def masked_mass(
    step: Step, found: Entropies, payers: Sequence[Paid], names: Mapping[int, str], *, known: float, key: str
) -> None:
    """Draws the figures of a step's distributions and who took the masked mass.

    `names`: the tokens that payers wanted, as they are shown. `known`: the part of the masked mass that the payers are
    of, 1.0 where the whole distribution is known.
    """
    lost = max(0.0, 1.0 - step.z)
    rows = [_payer(_place(paid.origin), paid.share, step, _wanted(paid, names)) for paid in payers[:PAYERS]]
    if others := payers[PAYERS:]:
        rows.append(_payer(f"{len(others)} other parts", sum(paid.share for paid in others), step, ""))
    data = {
        "figures": figures(step, found),
        "rows": rows,
        "lost": percent(lost),
        "nats": f"{abs(step.cost):.2f}",
        "known": "" if known > 0.995 else f"from the recorded favourites: {percent(known)} of the masked mass",
    }
    _shares(key=key, data=data)


def _payer(place: str, share: float, step: Step, wanted: str) -> dict[str, Any]:
    mass, nats = percent(share * max(0.0, 1.0 - step.z)), f"{share * step.cost:.2f}"
    return {"place": place, "share": share, "mass": mass, "nats": nats, "wanted": wanted}


def _place(origin: Origin | None) -> str:
    return "the policy or the token limit" if origin is None else prose(str(origin))


def _wanted(paid: Paid, names: Mapping[int, str]) -> str:
    return ", ".join(f"{names[token_id]} {percent(raw)}" for token_id, raw in paid.wanted if token_id in names)


def figures(step: Step, found: Entropies) -> list[dict[str, str]]:
    """Allowed mass and entropies, labelled."""
    entropies = [
        ("Entropy, raw", found.raw),
        ("renormalised", found.renormalised),
        ("after temperature", found.tempered),
        ("drawn from", found.sampling),
    ]
    mass = [("Allowed mass Z", percent(step.z)), ("−ln Z", f"{abs(step.cost):.3f} nats")]
    shown = [*mass, *((label, f"{value:.2f} nats") for label, value in entropies if value is not None)]
    return [{"label": label, "value": value} for label, value in shown]
