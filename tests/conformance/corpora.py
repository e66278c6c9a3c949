"""Where the third-party data lies: $MASKSCOPE_CORPORA, else beside the repository; skipped without, except in CI."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

CORPORA = Path(os.environ.get("MASKSCOPE_CORPORA", Path(__file__).parents[3] / "shared" / "corpora"))


def require_corpora() -> None:
    """Skip the calling module where there are no corpora; fail in CI."""
    if CORPORA.exists():
        return
    if os.environ.get("CI"):
        raise FileNotFoundError(f"{CORPORA}: the corpora must be there in CI")
    pytest.skip(f"no corpora at {CORPORA} (set MASKSCOPE_CORPORA)", allow_module_level=True)
