"""What to try where a schema fights the model: one sentence, from the keyword that cost most and what was wanted."""

from __future__ import annotations

from engine.analysis.fights import Fight, Wanted

_UPPER = frozenset(("maxLength", "maxItems", "maxProperties", "maximum", "exclusiveMaximum", "maxContains"))
_LOWER = frozenset(("minLength", "minItems", "minProperties", "minimum", "exclusiveMinimum", "minContains"))
_FORMS = frozenset(("pattern", "format", "patternProperties", "propertyNames"))


def advice(part: Fight) -> str:
    """What to change, in a sentence or two. It names no token: those are in `part.wanted`."""
    if part.pointer is None:
        return (
            "This is not the schema: the mask policy or the token limit took these tokens away. Raise the limit, or "
            "choose the policy “bridging”."
        )
    wish = _wish(part.wanted)
    if wish == "space":
        return (
            "The model wants white space here. Allow it (whitespace: any), or ask for JSON on one line in the prompt."
        )
    if _first(part):
        return (
            "The model wants to begin with something else, say a sentence or a code fence. Ask for the output alone, "
            "or let the constraint begin after free text."
        )
    return _by_keyword(part.keyword, wish, part.pointer)


def _by_keyword(keyword: str, wish: str, pointer: str) -> str:
    if keyword in ("enum", "const"):
        return (
            "None of the allowed values is what the model would write. Add its value, or name the values in the prompt."
        )
    if keyword in _UPPER or (keyword in _LOWER and wish != "close"):
        return f"The model wants more, or another value, than {keyword} allows. Loosen it, or say it in the prompt."
    if keyword in _LOWER:
        return f"The model wants to stop before {keyword} allows it. Lower it, or say the bound in the prompt."
    if keyword in _FORMS:
        return f"The model writes another form than the {keyword} wants. Loosen it, or show the form in the prompt."
    if keyword == "type":
        return "The model would write a value of another type. Allow that type too, or say the type in the prompt."
    if wish == "close":
        return "The model wants to end here. Make what comes next optional, or ask for it by name in the prompt."
    if wish == "comma":
        return "The model wants to go on where this ends. Let more follow, or say in the prompt that this is all."
    if pointer.startswith("/") and not keyword:
        return (
            "The model would not write this key here. Rename it to what the model would write, move it to where the "
            "model expects it, or name the keys in the prompt."
        )
    return "The model would write something else here. Loosen this part, move it, or show in the prompt what it wants."


def _wish(wanted: tuple[Wanted, ...]) -> str:
    """What most of the wanted tokens are: "space", "close" (the end of a value), "comma", or "other"."""
    costs: dict[str, float] = {}
    for token in wanted:
        kind = _kind(token.token)
        costs[kind] = costs.get(kind, 0.0) + token.cost
    return max(costs, key=lambda kind: costs[kind], default="other")


def _kind(token: bytes) -> str:
    rest = token.strip()
    if token and not rest:
        return "space"
    rest = rest.removeprefix(b'"')
    if rest.startswith((b"}", b"]")):
        return "close"
    return "comma" if rest.startswith(b",") else "other"


def _first(part: Fight) -> bool:
    """The part was dearest where nothing was written yet."""
    return bool(part.moments) and not part.moments[0].before
