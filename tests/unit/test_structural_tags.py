"""Structural tags: free text with constrained parts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine import ConstraintError, compile_request
from tests.unit.request_bodies import LEGACY_TAG, TAG, WEATHER

STRUCTURED: list[tuple[dict[str, Any], list[str], list[str]]] = [
    (
        {
            "type": "triggered_tags",
            "triggers": ["<f="],
            "tags": [
                {
                    "type": "tag",
                    "begin": "<f=a>",
                    "content": {"type": "json_schema", "json_schema": WEATHER},
                    "end": "</f>",
                },
                {"type": "tag", "begin": "<f=b>", "content": {"type": "regex", "pattern": "[0-9]+"}, "end": "</f>"},
            ],
        },
        ["", "text < f", '<f=a>{"city": "Oslo"}</f> and <f=b>12</f>', "a<f=b>1</f><f=b>2</f>"],
        ["<f=", "<f=c>1</f>", "<f=b>x</f>", "<f=b>1"],
    ),
    (
        {
            "type": "triggered_tags",
            "triggers": ["<"],
            "tags": [{"begin": "<b>", "content": {"type": "any_text"}, "end": "</b>"}],
            "at_least_one": True,
            "stop_after_first": True,
        },
        ["<b>é</b>", "<b></b>"],
        ["", "x<b></b>", "<b></b>x", "<b></b><b></b>"],
    ),
    (
        {
            "type": "tags_with_separator",
            "separator": ";",
            "tags": [{"begin": "(", "content": {"type": "const_string", "value": "x"}, "end": ")"}],
        },
        ["", "(x)", "(x);(x)"],
        ["(x);", ";(x)", "(x)(x)"],
    ),
    (
        {
            "type": "sequence",
            "elements": [
                {"type": "tag", "begin": "<think>", "content": {"type": "any_text"}, "end": "</think>"},
                {
                    "type": "or",
                    "elements": [{"type": "const_string", "value": "ok"}, {"type": "regex", "pattern": "n+"}],
                },
                {"type": "optional", "content": {"type": "const_string", "value": "!"}},
                {"type": "repeat", "min": 1, "max": 2, "content": {"type": "const_string", "value": "?"}},
            ],
        },
        ["<think>a </ b</think>ok?", "<think></think>nn!??"],
        ["<think></think></think>ok?", "<think></think>ok???", "ok?"],
    ),
    ({"type": "any_text", "excludes": ["stop"]}, ["", "sto p"], ["stop", "nonstop."]),
]


@pytest.mark.parametrize(("form", "accepted", "rejected"), STRUCTURED)
def test_formats_of_structural_tags(form: dict[str, Any], accepted: list[str], rejected: list[str]) -> None:
    constraint = compile_request({"response_format": {"type": "structural_tag", "format": form}})
    for text in accepted:
        assert constraint.check(text).kind == "accepted", text
    for text in rejected:
        assert constraint.check(text).kind != "accepted", text


def test_a_broken_member_is_found_inside_tags() -> None:
    body = {"response_format": {**LEGACY_TAG, "structures": [{**TAG, "schema": {"type": "strin"}}]}}
    with pytest.raises(ConstraintError) as raised:
        compile_request(body)
    assert raised.value.pointer == "/response_format/structures/0/schema/type"


def test_findings_are_about_schemas_inside_tags() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}}
    body = {
        "structured_outputs": {"structural_tag": json.dumps({**LEGACY_TAG, "structures": [{**TAG, "schema": schema}]})}
    }
    report = compile_request(body).report
    at = "/structured_outputs/structural_tag/structures/0/schema"
    assert [(finding.severity, finding.pointer) for finding in report.findings] == [
        ("info", at),
        ("warning", f"{at}/properties/a/pattern"),
    ]
    assert "vLLM" in report.notes[0]
