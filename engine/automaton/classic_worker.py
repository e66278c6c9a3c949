"""Builds the character-level FSM of a regex with interegular, in a process of its own: standard input to JSON.

interegular has no bound on time or memory, and nothing that runs can be stopped but a process. It is started by the
path of this file, so that it imports nothing of the engine.
"""

import json
import sys

from interegular import InvalidSyntax, Unsupported, parse_pattern
from interegular.fsm import anything_else

MOST_MEMORY = 1_000_000_000
"""Bytes, where the system can limit them."""


def main() -> None:
    """Write `{"initial", "finals", "map", "symbols", "other"}`, or `{"refused"}` with the reason.

    `map` goes from state to symbol to state, `symbols` from symbol to its characters, `other` is the symbol of all
    characters that no symbol lists.
    """
    _limit_memory()
    try:
        found = _built(sys.stdin.read())
    except Unsupported as error:
        found = {"refused": f"interegular does not know {error}"}
    except InvalidSyntax:
        found = {"refused": "interegular takes it for a slip"}
    except (AttributeError, RecursionError, MemoryError) as error:  # what it forgot to refuse
        found = {"refused": f"interegular fails on it ({type(error).__name__})"}
    json.dump(found, sys.stdout)


def _built(pattern: str) -> dict[str, object]:
    fsm = parse_pattern(pattern).to_fsm().reduce()
    symbols: dict[int, list[str]] = {}
    for symbol, characters in fsm.alphabet.by_transition.items():
        symbols[symbol] = sorted(c for c in characters if c is not anything_else)
    other = [s for s, characters in fsm.alphabet.by_transition.items() if anything_else in characters]
    return {
        "initial": fsm.initial,
        "finals": sorted(fsm.finals),
        "map": fsm.map,
        "symbols": symbols,
        "other": other[0] if other else None,
    }


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # not on this system
        return
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


if __name__ == "__main__":
    main()
