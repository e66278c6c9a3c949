"""What is risky in a JSON Schema although it compiles: findings with place, severity and reason.

subject.py finds the places where values stand and what is asked of them there; every other file is one family of
findings, a function from the subject to findings; run.py puts them together.
"""

from engine.analysis.lint.run import lint, unsatisfiable_parts

__all__ = ["lint", "unsatisfiable_parts"]
