"""What is worth knowing about a source beyond whether it compiles: said by the lint and of provider requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "info"]
"""error: it will fail; warning: it will not do what it says; info: good to know."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One remark about a place of a schema or of a request.

    `pointer`: JSON Pointer. `keyword`: what it is about, "" if nothing has a name there. `why`: what follows from it.
    """

    pointer: str
    severity: Severity
    keyword: str
    message: str
    why: str = ""

    def __str__(self) -> str:
        return f"{self.severity}: {self.pointer or 'the root'}: {self.message}"
