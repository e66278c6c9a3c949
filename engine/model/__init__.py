from engine.model.errors import ModelError
from engine.model.load import load_model

__all__ = ["ModelError", "load_model"]
