"""What other engines and hosted services do with each JSON Schema keyword: a table.

Measured with xgrammar 0.2.9, llguidance 1.9.1, outlines-core 0.2.14 and lm-format-enforcer 0.11.3; read from the source
of llama.cpp's converter and from the documentation of OpenAI and Anthropic. Keywords without a row are enforced.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from engine.findings import Severity
from engine.grammar.requests import conditions as c

Effect = Literal["refuses", "doubts", "loosens", "narrows", "differs"]

EFFECTS: dict[Effect, tuple[Severity, str]] = {
    "refuses": ("error", "The request fails."),
    "doubts": ("warning", "The request fails unless the branches are provably disjoint."),
    "loosens": ("warning", "The model can write a value that violates the schema."),
    "narrows": ("warning", "Some values that satisfy the schema can never be written."),
    "differs": ("info", "The constraint is not the one that the specification describes."),
}


@dataclass(frozen=True, slots=True)
class Rule:
    """What one engine does with one keyword, where `applies`. `does` completes a sentence that begins with its name.

    Keyword "true" or "false" stands for a boolean schema.
    """

    keyword: str
    effect: Effect
    does: str
    applies: c.Condition


def _rule(effect: Effect) -> Callable[..., Rule]:
    def make(keyword: str, does: str, applies: c.Condition | None = None) -> Rule:
        return Rule(keyword, effect, does, applies or c.has(keyword))

    return make


REFUSES, DOUBTS, LOOSENS, NARROWS, DIFFERS = map(_rule, EFFECTS)


def _ignores(*keywords: str) -> tuple[Rule, ...]:
    return tuple(LOOSENS(keyword, f"ignores {keyword}") for keyword in keywords)


def _refuses(*keywords: str) -> tuple[Rule, ...]:
    return tuple(REFUSES(keyword, f"does not take {keyword}") for keyword in keywords)


BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
CONDITIONALS = ("not", "if")
CONTAINS = ("contains", "minContains", "maxContains")
DEPENDENT = ("dependentRequired", "dependentSchemas", "dependencies")
UNEVALUATED = ("unevaluatedItems", "unevaluatedProperties")

WHOLE_PATTERN = NARROWS("pattern", "matches pattern against the whole string; the specification searches", c.unanchored)
NO_ESCAPES = LOOSENS("properties", "does not escape names, which is no JSON", c.names_need_escapes)
CLOSED = DIFFERS(
    "additionalProperties", "admits no undeclared members where additionalProperties is absent", c.leaves_members_open
)
REQUIRED_FIRST = DIFFERS("required", "writes required members before optional ones", c.optional_first)
ONE_OF_UNION = LOOSENS("oneOf", "reads oneOf as anyOf, so a value may satisfy several branches", c.several("oneOf"))
ENUM_BEYOND_TYPE = LOOSENS("enum", "offers values of enum that type excludes", c.enum_beyond_type)
UNIQUE_IGNORED = LOOSENS("uniqueItems", "ignores uniqueItems", c.is_true("uniqueItems"))
UNIQUE_REFUSED = REFUSES("uniqueItems", "does not take uniqueItems", c.is_true("uniqueItems"))
REF_ALONE = LOOSENS("$ref", "ignores the keywords beside $ref", c.beside("$ref"))
ANY_OF_ALONE = LOOSENS("anyOf", "ignores the keywords beside anyOf, or the other way round", c.beside("anyOf"))
UNDECLARED_REQUIRED = LOOSENS(
    "required", "does not ask for required names that properties lacks", c.declares_too_little
)
EXACT_TUPLE = NARROWS("prefixItems", "asks for exactly the items that prefixItems lists")
LIST_OF_ITEMS = REFUSES("items", "does not take a list of schemas as items", c.lists_items)
NO_LOOKAROUND = REFUSES("pattern", "does not take lookahead or lookbehind in a pattern", c.matching(c.LOOKAROUND))
NO_BOUNDARY = REFUSES("pattern", "does not take \\b in a pattern", c.matching(c.WORD_BOUNDARY))
NO_BACKREFERENCE = REFUSES("pattern", "does not take backreferences in a pattern", c.matching(c.BACKREFERENCE))
NO_PROPERTY_CLASS = REFUSES("pattern", "does not take \\p{...} in a pattern", c.matching(c.PROPERTY_CLASS))
CLOSED_REQUIRED = REFUSES(
    "additionalProperties",
    "asks for additionalProperties: false in every object",
    lambda schema: c.is_object(schema) and schema.get("additionalProperties") is not False,
)

XGRAMMAR = (
    *_ignores(*CONDITIONALS, *CONTAINS, *DEPENDENT, "$dynamicRef"),
    UNIQUE_IGNORED,
    ENUM_BEYOND_TYPE,
    ONE_OF_UNION,
    REF_ALONE,
    ANY_OF_ALONE,
    UNDECLARED_REQUIRED,
    WHOLE_PATTERN,
    LIST_OF_ITEMS,
    NO_BOUNDARY,
    NO_BACKREFERENCE,
    NO_PROPERTY_CLASS,
    CLOSED,
    LOOSENS("pattern", "ignores lookahead and lookbehind", c.matching(c.LOOKAROUND)),
    LOOSENS("pattern", "ignores pattern beside format", c.beside("pattern", "format")),
    LOOSENS("minLength", "ignores minLength beside pattern or format", c.beside("minLength", "pattern", "format")),
    LOOSENS("maxLength", "ignores maxLength beside pattern or format", c.beside("maxLength", "pattern", "format")),
    LOOSENS("$ref", "accepts any value for a reference by $anchor or $id", c.refers_by_name),
    LOOSENS(
        "allOf",
        "accepts any JSON value for allOf with several schemas or beside other keywords",
        c.either(c.several("allOf"), c.beside("allOf")),
    ),
    LOOSENS("type", "ignores keywords that stand without a type", c.is_typeless),
    LOOSENS("multipleOf", "ignores multipleOf unless type is integer", c.both(c.has("multipleOf"), c.admits_fractions)),
    LOOSENS("format", "accepts days that no month has", c.format_among("date", "date-time")),
    LOOSENS(
        "format",
        "ignores this format",
        c.format_among("idn-email", "idn-hostname", "iri", "iri-reference", "regex"),
    ),
    *(
        NARROWS(keyword, f"compares {keyword} with six decimals at most", c.both(c.has(keyword), c.admits_fractions))
        for keyword in BOUNDS
    ),
    NARROWS(
        "prefixItems", "admits no items after prefixItems where items is absent", c.without("prefixItems", "items")
    ),
    NARROWS("patternProperties", "matches its patterns against whole names; the specification searches"),
    NARROWS("maxItems", "misreads maxItems where items is absent", c.without("maxItems", "items")),
    REFUSES("minItems", "does not take minItems where items is absent", c.without("minItems", "items")),
    REFUSES("false", "does not take false as a schema"),
)

LLGUIDANCE = (
    *_refuses(*CONDITIONALS, *CONTAINS, *DEPENDENT, *UNEVALUATED, "propertyNames", "$dynamicRef"),
    UNIQUE_REFUSED,
    NO_LOOKAROUND,
    NO_BOUNDARY,
    NO_BACKREFERENCE,
    DOUBTS("oneOf", "does not take oneOf of branches that may overlap", c.several("oneOf")),
    REFUSES(
        "format",
        "does not know this format",
        c.format_beyond(
            *("date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uuid", "unknown")
        ),
    ),
)

OUTLINES = (
    *_ignores(*BOUNDS, "multipleOf", *CONDITIONALS, *CONTAINS, *DEPENDENT, "propertyNames", "maxProperties"),
    UNIQUE_IGNORED,
    ENUM_BEYOND_TYPE,
    ONE_OF_UNION,
    REF_ALONE,
    ANY_OF_ALONE,
    UNDECLARED_REQUIRED,
    WHOLE_PATTERN,
    EXACT_TUPLE,
    LIST_OF_ITEMS,
    NO_BACKREFERENCE,
    NO_PROPERTY_CLASS,
    CLOSED,
    LOOSENS("minProperties", "ignores minProperties beside properties", c.beside("minProperties", "properties")),
    LOOSENS("pattern", "ignores pattern beside a length", c.beside("pattern", "minLength", "maxLength")),
    LOOSENS("pattern", "lets an alternation escape the quotation marks, which is no JSON", c.has_top_alternation),
    NO_ESCAPES,
    LOOSENS("properties", "lets the value of an empty schema stand without its object", c.has_empty_property),
    LOOSENS(
        "allOf",
        "writes the schemas of allOf one after the other, which is no JSON",
        c.either(c.several("allOf"), c.beside("allOf")),
    ),
    LOOSENS("format", "accepts days that no month has", c.format_among("date", "date-time")),
    NARROWS("format", "knows only some URIs", c.format_among("uri")),
    NARROWS(
        "patternProperties", "ignores patternProperties beside properties", c.beside("patternProperties", "properties")
    ),
    NARROWS("additionalProperties", "admits no undeclared members beside properties", c.admits_more_members),
    NARROWS("type", "misreads a list of types beside keywords about one of them", c.has_extra_types),
    REFUSES(
        "format", "does not know this format", c.format_beyond("date", "time", "date-time", "email", "uri", "uuid")
    ),
    REFUSES("$ref", "does not take a reference by $anchor or $id", c.refers_by_name),
    REFUSES("$dynamicRef", "does not take $dynamicRef"),
    REFUSES("type", "asks for a type", c.is_typeless),
    REFUSES("true", "does not take true as a schema"),
    REFUSES("false", "does not take false as a schema"),
)

LM_FORMAT_ENFORCER = (
    *_ignores(*BOUNDS, "multipleOf", "format", *CONDITIONALS, *CONTAINS, *DEPENDENT, "prefixItems", "unevaluatedItems"),
    *_ignores("patternProperties", "propertyNames", "minProperties", "maxProperties"),
    UNIQUE_IGNORED,
    REF_ALONE,
    WHOLE_PATTERN,
    LIST_OF_ITEMS,
    NO_BOUNDARY,
    NO_BACKREFERENCE,
    NO_PROPERTY_CLASS,
    CLOSED,
    LOOSENS("allOf", "merges the schemas of allOf; of two values for a keyword the first wins", c.several("allOf")),
    LOOSENS("type", "ignores keywords beside a list of types", c.has_extra_types),
    LOOSENS("maxItems", "ignores maxItems: 0", lambda schema: schema.get("maxItems") == 0),
    NO_ESCAPES,
    NARROWS("required", "cannot write required names that properties lacks", c.declares_too_little),
    NARROWS("oneOf", "finds no value for oneOf", c.several("oneOf")),
    NARROWS("additionalProperties", "admits no undeclared members beside properties", c.admits_more_members),
    REFUSES("minLength", "does not take minLength beside pattern", c.beside("minLength", "pattern")),
    REFUSES("maxLength", "does not take maxLength beside pattern", c.beside("maxLength", "pattern")),
    REFUSES("enum", "does not take an enum of several types", c.enum_of_several_types),
    REFUSES("const", "takes only strings as const", lambda schema: not isinstance(schema.get("const", ""), str)),
    REFUSES("$ref", "does not take a reference to the whole schema", c.refers_to_root),
    REFUSES("$ref", "does not take a reference by $anchor or $id", c.refers_by_name),
    REFUSES("$dynamicRef", "does not take $dynamicRef"),
    REFUSES("type", "asks for a type", c.names_no_type),
    REFUSES("true", "does not take true as a schema"),
    REFUSES("false", "does not take false as a schema"),
)

LLAMA_CPP = (
    *_ignores("multipleOf", *CONDITIONALS, *CONTAINS, *DEPENDENT, *UNEVALUATED, "patternProperties", "propertyNames"),
    *_ignores("minProperties", "maxProperties", "$dynamicRef"),
    UNIQUE_IGNORED,
    ENUM_BEYOND_TYPE,
    ONE_OF_UNION,
    REF_ALONE,
    ANY_OF_ALONE,
    UNDECLARED_REQUIRED,
    EXACT_TUPLE,
    CLOSED,
    REQUIRED_FIRST,
    REFUSES("pattern", "asks for a pattern that begins with ^ and ends with $", c.unanchored),
    NO_LOOKAROUND,
    *(
        LOOSENS(keyword, f"ignores {keyword} unless type is integer", c.both(c.has(keyword), c.admits_fractions))
        for keyword in BOUNDS
    ),
    LOOSENS(
        "pattern",
        "copies escapes such as \\d into a grammar that then does not parse, and may answer unconstrained",
        c.matching(c.LETTER_ESCAPE),
    ),
    LOOSENS("minLength", "ignores minLength beside pattern", c.beside("minLength", "pattern")),
    LOOSENS("maxLength", "ignores maxLength beside pattern", c.beside("maxLength", "pattern")),
    LOOSENS("minItems", "ignores minItems where items is absent", c.without("minItems", "items")),
    LOOSENS("maxItems", "ignores maxItems where items is absent", c.without("maxItems", "items")),
    LOOSENS("allOf", "merges the members that allOf declares and drops the rest", c.several("allOf")),
    LOOSENS("format", "ignores this format", c.format_beyond("date", "time", "date-time", "uuid")),
)

OPENAI = (
    *_refuses("allOf", "oneOf", *CONDITIONALS, "then", "else", *CONTAINS, *DEPENDENT, *UNEVALUATED, "$dynamicRef"),
    *_refuses("patternProperties", "propertyNames", "minProperties", "maxProperties", "prefixItems"),
    *_refuses("minLength", "maxLength"),
    UNIQUE_REFUSED,
    CLOSED_REQUIRED,
    NO_LOOKAROUND,
    REFUSES("$ref", "does not take keywords beside $ref", c.beside("$ref")),
    REFUSES("type", "asks for a type", c.names_no_type),
    REFUSES(
        "items", "asks for items in every array", lambda schema: "array" in c.types(schema) and "items" not in schema
    ),
    REFUSES(
        "format",
        "does not know this format",
        c.format_beyond("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"),
    ),
)

ANTHROPIC = (
    *_refuses(*BOUNDS, "multipleOf", "minLength", "maxLength", "maxItems", *CONTAINS, *CONDITIONALS, "then", "else"),
    *_refuses(
        "oneOf", *DEPENDENT, *UNEVALUATED, "patternProperties", "propertyNames", "minProperties", "maxProperties"
    ),
    *_refuses("prefixItems", "$dynamicRef"),
    UNIQUE_REFUSED,
    CLOSED_REQUIRED,
    NO_LOOKAROUND,
    NO_BOUNDARY,
    NO_BACKREFERENCE,
    REQUIRED_FIRST,
    REFUSES("minItems", "takes only 0 or 1 as minItems", c.above("minItems", 1)),
    REFUSES("enum", "does not take arrays and objects in enum", c.enum_of_structures),
    REFUSES("$ref", "does not take references to other documents", c.refers_outside),
    REFUSES(
        "format",
        "does not know this format",
        c.format_beyond("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"),
    ),
)
