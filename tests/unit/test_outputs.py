"""What stands around the JSON of a free answer; the first cases are what the bundled model wrote."""

import pytest

from engine.analysis.outputs import shape


def test_json_with_an_explanation_after_it() -> None:
    found = shape('{\n  "name": "Marie Curie",\n  "age": 66\n}\n\nThis is a JSON string.')
    assert (found.parses, found.fenced, found.preamble) == (False, False, "")
    assert found.trailing == "This is a JSON string."
    assert found.value == {"name": "Marie Curie", "age": 66}


def test_a_string_without_quotes_is_no_json() -> None:
    found = shape('{\n  "name": Marie Curie,\n  "age": 66\n}')
    assert (found.parses, found.inside, found.value) == (False, "", None)


def test_two_objects_are_one_and_a_rest() -> None:
    found = shape('{"name": "Marie Curie"}\n{"city": "Paris"}')
    assert not found.parses
    assert found.inside == '{"name": "Marie Curie"}'
    assert found.trailing == '{"city": "Paris"}'


def test_json_alone_parses_with_space_around_it() -> None:
    found = shape(' {"a": [1, null]}\n')
    assert (found.parses, found.preamble, found.trailing) == (True, "", "")
    assert found.value == {"a": [1, None]}


@pytest.mark.parametrize("mark", ["```json\n", "```\n", "``` JSON\r\n", "```"])
def test_a_fence_with_words_around_it(mark: str) -> None:
    found = shape(f'Sure, here it is:\n{mark}{{"a": 1}}\n```\nAnything else?')
    assert (found.fenced, found.parses, found.apology) == (True, False, False)
    assert found.preamble == "Sure, here it is:"
    assert found.trailing == "Anything else?"
    assert found.value == {"a": 1}


def test_a_fence_around_something_else_after_the_json() -> None:
    found = shape('{"a": 1}\n\nIn Python:\n```python\ndef f(): ...\n```')
    assert (found.fenced, found.inside, found.preamble) == (True, '{"a": 1}', "")
    assert found.trailing.startswith("In Python:")


def test_a_fence_that_is_never_closed() -> None:
    found = shape('```json\n{"a": 1}')
    assert (found.fenced, found.inside, found.preamble, found.trailing) == (True, '{"a": 1}', "", "")


def test_a_fence_around_something_else() -> None:
    found = shape("Here:\n```python\nprint(1)\n```\nBye")
    assert (found.fenced, found.inside, found.preamble, found.trailing) == (True, "", "Here:", "Bye")


@pytest.mark.parametrize("text", ["I'm sorry, I can't help with that.", "I apologize, but no.", "As an AI, I may not."])
def test_an_apology(text: str) -> None:
    assert shape(text).apology
    assert shape(text).preamble == text


def test_an_apology_inside_the_value_is_none() -> None:
    assert not shape('{"message": "sorry"}').apology


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "{'a': 1}", "", "[" * 20_000, '{"a": ' * 5_000])
def test_what_is_no_json(text: str) -> None:
    found = shape(text)
    assert (found.parses, found.inside) == (False, "")


def test_null_is_json() -> None:
    assert shape("null").parses
