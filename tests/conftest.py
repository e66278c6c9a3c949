"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is imported: the workers share the cores

from engine.model import ModelError, load_model

if TYPE_CHECKING:
    from engine.model.model import Model


@pytest.fixture(scope="session")
def model() -> Model:
    """The bundled model (or the one in MASKSCOPE_MODEL), loaded once. Skips where it can't be had, except in CI."""
    try:
        return load_model(device="cpu")
    except ModelError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
