"""Examples worth looking at: each shows one phenomenon, and says where to look."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from engine.decoding.records import ConstraintSource, RunSpec, Sampler
from engine.grammar.ebnf.grammars import LARK_EXAMPLES

GREEDY = Sampler()

OPTIONS = (("key_order", "schema"), ("whitespace", "spaced"), ("spelling", "plain"), ("objects", "closed"))


@dataclass(frozen=True, slots=True)
class Example:
    """An entry of the menu. `reason`: what to watch, in one sentence. `constraint` None: a free run."""

    name: str
    reason: str
    prompt: str
    constraint: ConstraintSource | None
    sampler: Sampler = GREEDY
    max_tokens: int = 96

    def spec(self) -> RunSpec:
        """The run to start from."""
        return RunSpec(self.prompt, self.constraint, sampler=self.sampler, max_tokens=self.max_tokens)


def _schema(schema: dict[str, Any], **options: str) -> ConstraintSource:
    text = json.dumps(schema, indent=2, ensure_ascii=False)
    return ConstraintSource("json_schema", text, tuple((dict(OPTIONS) | options).items()))


def _grammar(name: str) -> ConstraintSource:
    return ConstraintSource("lark", next(example.text for example in LARK_EXAMPLES if example.name == name))


def _object(properties: dict[str, Any], required: list[str] | None = None, **more: Any) -> dict[str, Any]:
    """A closed object; all of its properties are required unless said otherwise."""
    names = list(properties) if required is None else required
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False, **more}


TEXT = {"type": "string", "maxLength": 80}

PERSON = _object({"name": TEXT, "age": {"type": "integer"}, "city": TEXT})

SENTIMENT = _object({"sentiment": {"enum": ["negative", "neutral", "mixed"]}})

REASON_FIRST = _object({"reasoning": {"type": "string", "maxLength": 120}, "answer": {"type": "integer"}})

ANSWER_FIRST = _object({"answer": {"type": "integer"}, "reasoning": {"type": "string", "maxLength": 120}})

CONTACT = _object({"name": TEXT, "email": TEXT, "phone": TEXT}, required=["name"])

FAMILY = {
    "$ref": "#/$defs/person",
    "$defs": {
        "person": _object({"name": {"type": "string", "maxLength": 12}, "child": {"$ref": "#/$defs/person"}}, ["name"])
    },
}

LISTS = {
    "$ref": "#/$defs/list",
    "$defs": {
        "list": {
            "type": "array",
            "items": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/list"}]},
            "maxItems": 4,
        }
    },
}

FOLDERS = {
    "$ref": "#/$defs/folder",
    "$defs": {
        "folder": _object(
            {
                "name": {"type": "string", "minLength": 1, "maxLength": 12},
                "folders": {"type": "array", "items": {"$ref": "#/$defs/folder"}, "maxItems": 2},
            }
        )
    },
}

COLOURS = _object(
    {"colors": {"type": "array", "items": {"type": "string", "maxLength": 20}, "minItems": 3, "maxItems": 4}}
)

SHAPE = {
    "anyOf": [
        _object({"shape": {"const": "circle"}, "radius": {"type": "number"}}),
        _object({"shape": {"const": "rectangle"}, "width": {"type": "number"}, "height": {"type": "number"}}),
    ]
}

APPOINTMENT = _object(
    {
        "date": {"type": "string", "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
        "phone": {"type": "string", "pattern": r"^\([0-9]{3}\) [0-9]{3}-[0-9]{4}$"},
    }
)

WAY_OUT = _object({"name": {"anyOf": [TEXT, {"type": "null"}]}, "employer": {"anyOf": [TEXT, {"type": "null"}]}})

OPEN = {
    "type": "object",
    "properties": {"title": TEXT, "year": {"type": "integer"}},
    "required": ["title"],
}

PERSON_PROMPT = "Extract the person as JSON: Marie Curie, a 66 year old physicist, lived in Paris."

EXAMPLES: tuple[Example, ...] = (
    Example(
        "Person record",
        "Keys and punctuation are forced or nearly so; the model decides only inside the values.",
        PERSON_PROMPT,
        _schema(PERSON),
    ),
    Example(
        "The same, free",
        "No constraint: compare what the model writes around the JSON with the constrained run of the same prompt.",
        PERSON_PROMPT,
        None,
    ),
    Example(
        "Against the model's wish",
        'The review is glowing but "positive" is not in the enum: look at Z where the value begins, and at who paid.',
        'What is the sentiment of this review? "I love it, the best phone I ever had!" Answer in JSON.',
        _schema(SENTIMENT),
    ),
    Example(
        "Reasoning first",
        "The key order of the schema makes the model write its reasoning before the answer.",
        "Tom has 3 apples and buys 4 more. How many apples has he? Answer in JSON with reasoning and answer.",
        _schema(REASON_FIRST),
    ),
    Example(
        "Answer first",
        "The same two keys the other way round: the number is fixed before a word of reasoning is written.",
        "Tom has 3 apples and buys 4 more. How many apples has he? Answer in JSON with reasoning and answer.",
        _schema(ANSWER_FIRST),
    ),
    Example(
        "Optional fields",
        "After the name a comma and a closing brace are both allowed: the model decides which optional keys appear.",
        "Extract the contact as JSON: Ada Lovelace, phone 555-0199.",
        _schema(CONTACT),
    ),
    Example(
        "Family tree",
        "A $ref to itself: the state grows like a stack, one closing brace for each person that is still open.",
        'Write as JSON with "name" and "child": Anna is the mother of Ben. Ben is the father of Carl.',
        _schema(FAMILY),
    ),
    Example(
        "Nested list",
        "Lists in lists: the closing brackets are counted by the state, and at four items the comma is masked.",
        "Write the nested list [1, [2, 3], [4, [5]]] as JSON.",
        _schema(LISTS),
    ),
    Example(
        "A tree without end",
        "The model opens folder after folder: the run meets its token limit and says what was still missing.",
        "A folder named home contains two folders, docs and music. Write it as JSON.",
        _schema(FOLDERS),
        max_tokens=64,
    ),
    Example(
        "Array with bounds",
        "Before the third item the closing bracket is masked, after the fourth the comma is.",
        "List the colors of the rainbow as JSON.",
        _schema(COLOURS),
    ),
    Example(
        "One of two shapes",
        "Two branches share their first bytes; the token that tells them apart decides which keys follow.",
        "Describe a rectangle of width 3 and height 4.5 as JSON.",
        _schema(SHAPE),
    ),
    Example(
        "Date and phone patterns",
        "Inside a pattern few bytes are possible: digits come one by one, and the separators are forced.",
        "Make an appointment for 3 May 2024, phone (555) 123-4567, as JSON.",
        _schema(APPOINTMENT),
    ),
    Example(
        "A way out with null",
        "Where a value may be null the model can say that it does not know; watch the first token of each value.",
        "Extract name and employer as JSON. Use null if the text does not say. Text: Grace went to the market.",
        _schema(WAY_OUT),
    ),
    Example(
        "Undeclared keys",
        "additionalProperties is absent: after the declared keys any others may follow until the model closes it.",
        "Describe the book Dracula as JSON with title, year and author.",
        _schema(OPEN, objects="open"),
    ),
    Example(
        "ISO date (regex)",
        "A small automaton that can be drawn whole: months and days fan out and meet again.",
        "On which date did Apollo 11 land on the Moon? Answer in the form YYYY-MM-DD.",
        ConstraintSource("regex", r"(19|20)[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"),
    ),
    Example(
        "Settings line (regex)",
        "key=value pairs with a separator that a single token may cross; drawn with temperature, so seeds differ.",
        "Write settings for a small printer as key=value pairs separated by semicolons.",
        ConstraintSource("regex", r"[a-z_]{1,12}=[a-z0-9]{1,8}(; [a-z_]{1,12}=[a-z0-9]{1,8}){1,3}"),
        Sampler(temperature=0.8, top_p=0.95, seed=7),
    ),
    Example(
        "Emoji (regex)",
        "One emoji is several tokens: after its first bytes the mask leaves nothing but continuation bytes.",
        "Answer with emoji only: how does a birthday party feel?",
        ConstraintSource("regex", r"[😀-🙏🎁-🎉]{3}"),
    ),
    Example(
        "SQL (grammar)",
        "Rules that call each other need a stack: watch which rule speaks, and the keywords that tokens write whole.",
        "Write a SQL query for the names of all customers older than 30, sorted by name.",
        _grammar("sql_select"),
    ),
    Example(
        "Arithmetic (grammar)",
        "A left-recursive grammar, ambiguous to the eye and not to the automaton: brackets must be closed again.",
        "Write the sum of the squares of a and b as a formula.",
        _grammar("arithmetic"),
        max_tokens=48,
    ),
    Example(
        "Log line (grammar)",
        "A wire format, exact to the byte: one space between pairs and nothing else.",
        "Write a log line for a full disk as key=value pairs: time, level, disk and free space.",
        _grammar("key_value"),
        max_tokens=64,
    ),
)


def example(name: str) -> Example:
    """The example of that name. Raises KeyError if there is none."""
    return {entry.name: entry for entry in EXAMPLES}[name]
