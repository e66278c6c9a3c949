"""Get the bundled model ready and show how far it is: `python -m engine.model`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from engine.model.bundled import Progress, bundled_model
from engine.model.errors import ModelError


def terminal_progress() -> Progress:
    """Progress on the terminal: one line that is rewritten, or a line per stage where the output is not a terminal."""
    if sys.stderr.isatty():
        return lambda text, part: print(f"\r{part:4.0%}  {text:<60}", end="", file=sys.stderr, flush=True)
    shown = set[str]()

    def by_stage(text: str, part: float) -> None:
        stage = text.split(":")[0]
        if stage not in shown:
            shown.add(stage)
            print(f"{part:4.0%}  {stage}", file=sys.stderr, flush=True)

    return by_stage


def read_a_token(folder: Path) -> None:
    """So that the compiled code is there before a server starts: it takes seconds the first time and is kept."""
    from engine.model.llama import Llama
    from engine.model.packed import open_weights
    from engine.model.runner import Part

    if (weights := open_weights(folder)) is not None:
        Llama(weights).read([Part([0], 0, 1, [0])])


def main() -> int:
    if os.environ.get("MASKSCOPE_MODEL"):
        return 0
    try:
        progress = terminal_progress()
        folder = bundled_model(progress)
        progress("Reading a token with it (compiled now if this is the first time)", 1.0)
        read_a_token(folder)
    except ModelError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted; the next start fetches the model anew.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
