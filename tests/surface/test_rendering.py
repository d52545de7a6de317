"""ContextRenderer over documents."""

from __future__ import annotations

import copy
import logging

import pytest
from langchain_core.documents import Document
from langchain_core.load import dumps
from langchain_core.runnables import ConfigurableField
from pydantic import ValidationError

from langchain_ctxfetch.rendering import ContextRenderer, render_context

CATS = Document("Cats purr.", metadata={"title": "Cats", "source": "c.md", "page": 3})
LONG = Document("word " * 2_000, metadata={"source": "l.md"})


def test_headers_show_the_metadata_that_is_asked_for() -> None:
    """Keys come in the order given; what is missing or no scalar is left out."""
    renderer = ContextRenderer(metadata_keys=("title", "page", "author", "source"))

    assert "[1] Cats | page: 3 | source: c.md\n" in renderer.render([CATS])


@pytest.mark.parametrize("value", [None, "", "  ", [1], {"a": 1}])
def test_FR_J7_a_missing_value_leaves_nothing_behind(value) -> None:
    """Neither `None` nor an empty label is shown."""
    made = ContextRenderer().render([Document("x", metadata={"source": value})])

    assert made == "<context>\n[1]\nx\n</context>"


def test_a_budget_is_shared_fairly() -> None:
    """The short document stays whole, the long one is cut with a mark."""
    text = render_context([LONG, CATS], max_tokens=200, token_counter=len)

    assert "Cats purr." in text
    assert "\n…" in text
    assert 190 <= len(text) <= 200


def test_what_has_no_room_for_its_header_is_left_out_from_the_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The first documents stay, and a warning counts the others."""
    with caplog.at_level(logging.WARNING, "langchain_ctxfetch"):
        text = render_context([CATS] * 9, max_tokens=100, token_counter=len)

    assert "[2]" in text
    assert "[9]" not in text
    assert "documents did not fit" in caplog.text


def test_without_any_room_there_is_no_text() -> None:
    """A budget of 0 renders nothing."""
    assert render_context([CATS], max_tokens=0) == ""


def test_documents_stay_as_they_are() -> None:
    """Rendering changes no document."""
    before = copy.deepcopy(LONG)
    render_context([LONG], max_tokens=50)

    assert before == LONG


@pytest.mark.parametrize(
    "fields", [{"max_tokens": -1}, {"token_counter": "?"}, {"style": "html"}, {"k": 1}]
)
def test_wrong_fields_are_refused(fields) -> None:
    """At construction, before anything is rendered."""
    with pytest.raises(ValidationError):
        ContextRenderer(**fields)


def test_the_style_can_be_set_by_the_call() -> None:
    """It is an ordinary runnable with configurable fields."""
    renderer = ContextRenderer().configurable_fields(
        style=ConfigurableField(id="style")
    )

    assert renderer.invoke([CATS], {"configurable": {"style": "plain"}}) == "Cats purr."


async def test_all_ways_to_call_it_agree() -> None:
    """Invoke, batch and their twins render the same text."""
    renderer = ContextRenderer(max_tokens=100)
    text = renderer.render([LONG, CATS])

    assert renderer.batch([[LONG, CATS]]) == [text]
    assert await renderer.ainvoke([LONG, CATS]) == text
    assert await renderer.abatch([[LONG, CATS]]) == [text]


def test_langchain_can_write_it_down() -> None:
    """It holds nothing but settings."""
    assert '"type": "constructor"' in dumps(ContextRenderer(style="xml"))
