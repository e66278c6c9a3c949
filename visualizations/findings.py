"""Remarks about a source in groups: each with its kind, place and consequence; a click selects its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.findings import Finding
from visualizations.component import Callback, register
from visualizations.tokens import prose

MOST = 300  # remarks of one group that are shown
_findings = register("findings")


@dataclass(frozen=True, slots=True)
class Group:
    """Remarks of one sort. `nothing`: what is said where there is none, "" for no word about it."""

    title: str
    findings: Sequence[Finding]
    nothing: str = ""


def findings_list(groups: Sequence[Group], *, selected: str | None, key: str, on_select: Callback) -> None:
    """Draws the groups; the remarks about the part `selected` (a pointer) are marked.

    A click calls `on_select`, group and index in the component's `.select`; see `selected_finding`.
    """
    data = {
        "groups": [
            {
                "title": group.title,
                "nothing": group.nothing,
                "more": max(0, len(group.findings) - MOST),
                "rows": [_row(finding, selected) for finding in group.findings[:MOST]],
            }
            for group in groups
            if group.findings or group.nothing
        ]
    }
    _findings(key=key, data=data, on_select_change=on_select)


def selected_finding(picked: object, groups: Sequence[Group]) -> Finding | None:
    """The remark that the component says was clicked. It may say anything."""
    if not isinstance(picked, dict):
        return None
    shown = [group for group in groups if group.findings or group.nothing]
    group, row = picked.get("group"), picked.get("row")
    if not isinstance(group, int) or not isinstance(row, int) or not 0 <= group < len(shown):
        return None
    return shown[group].findings[row] if 0 <= row < min(MOST, len(shown[group].findings)) else None


def _row(finding: Finding, selected: str | None) -> dict[str, object]:
    return {
        "severity": finding.severity,
        "place": prose(finding.pointer) or "the root",
        "keyword": prose(finding.keyword),
        "message": prose(finding.message),
        "why": prose(finding.why),
        "selected": finding.pointer == selected,
    }
