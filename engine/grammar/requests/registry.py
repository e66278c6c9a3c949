"""Who may have been asked: every provider family, with the keys by which its requests are recognised."""

from __future__ import annotations

from collections.abc import Callable

from engine.budget import Budget
from engine.grammar.requests import anthropic, llama_cpp, ollama, openai, sglang, structural_tag, vllm
from engine.grammar.requests.found import Found
from engine.grammar.requests.part import Part

FAMILIES: dict[str, Callable[[Part, Budget], Found | None]] = {
    "response_format or type (structural_tag)": structural_tag.find,
    "structured_outputs, guided_json, guided_regex, guided_choice, guided_grammar (vLLM)": vllm.find,
    "json_schema, regex, ebnf, structural_tag (SGLang)": sglang.find,
    "grammar, json_schema (llama.cpp)": llama_cpp.find,
    "output_config.format, output_format, tools with input_schema (Anthropic)": anthropic.find,
    "response_format, text.format, tools (OpenAI)": openai.find,
    "format (Ollama)": ollama.find,
}
"""The keys of each family and what finds its constraint. The first that is found counts."""
