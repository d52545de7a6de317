"""Blocks of a text: which there are, and that nothing beside a body ever changes."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from langchain_ctxfetch._core.blocks import (
    KNOWN_TYPES,
    Block,
    parse,
    render,
    source_of,
    tamed,
)
from langchain_ctxfetch._core.rendering import Entry, render as rendered

PIECES = st.sampled_from(
    [
        "<note_context>",
        "</note_context>",
        '<note_context id="7">',
        "<url_content>",
        "</url_content>",
        "<context>",
        "</context>\n",
        "<content>",
        "</content>",
        "<title>A < B</title>",
        "<path>a.md</path>",
        "<document title='x'>",
        "</document>",
        "\n[1] One | source: a\n",
        "\n[2] Two\n",
        "words and words ",
        "<",
        "日本。",
        "\n",
        "<context/>",
        '<selected_text a="',
    ]
)
TEXTS = st.lists(PIECES, max_size=40).map("".join)


def bodies(text: str) -> list[str]:
    return [text[slice(*block.body)] for block in parse(text)]


def replaced(text: str, body: str | None = "SUM") -> str:
    blocks = parse(text)
    return render(text, blocks, [body] * len(blocks))


@given(TEXTS)
def test_parse_then_render_is_the_identity(text: str) -> None:
    assert render(text, parse(text), bodies(text)) == text


@given(TEXTS)
def test_blocks_are_in_order_and_share_no_character(text: str) -> None:
    at = 0
    for block in parse(text):
        assert at <= block.start <= block.body[0] <= block.body[1] <= block.end
        at = block.end


@given(TEXTS)
def test_nothing_outside_a_replaced_body_changes(text: str) -> None:
    blocks = parse(text)
    kept, at = [], 0
    for block in blocks:
        kept.append(text[at : block.body[0]])
        at = block.body[1]
    kept.append(text[at:])
    assert render(text, blocks, ["S"] * len(blocks)) == "S".join(kept)


@given(TEXTS)
def test_what_is_tamed_holds_no_block(text: str) -> None:
    assert parse(tamed(text)) == []


@given(TEXTS)
def test_taming_twice_is_taming_once(text: str) -> None:
    assert tamed(tamed(text)) == tamed(text)


@given(TEXTS, TEXTS)
def test_a_tamed_body_never_ends_its_block(before: str, body: str) -> None:
    text = f"<note_context><content>{tamed(body)}</content></note_context>\n"
    (block,) = parse(text)
    assert block.end == len(text) - 1


@pytest.mark.parametrize("name", sorted(KNOWN_TYPES))
def test_every_known_type_is_found(name: str) -> None:
    (block,) = parse(f"a <{name}>body</{name}> b")
    assert (block.type, block.start, block.body) == (
        name,
        2,
        (4 + len(name), 8 + len(name)),
    )


def test_a_type_that_the_user_names_is_found() -> None:
    (block,) = parse("<my.log>x</my.log>", KNOWN_TYPES | {"my.log"})
    assert block.type == "my.log"


def test_a_type_that_is_not_known_is_text() -> None:
    assert parse("<other>x</other>") == []


def test_a_name_that_begins_like_a_known_one_is_text() -> None:
    assert parse("<contextual>x</contextual>") == []


def test_header_and_attributes_are_read_and_the_header_wins() -> None:
    (block,) = parse(
        '<note_context id="7" path="no">\n<path>a &amp; b.md</path>\n'
        "<content>x</content></note_context>"
    )
    assert dict(block.header) == {"id": "7", "path": "a & b.md"}


def test_a_header_is_not_read_from_the_body() -> None:
    (block,) = parse(
        "<active_web_tab><content><title>in</title></content></active_web_tab>"
    )
    assert source_of(block) == "active_web_tab"


def test_tags_of_the_text_itself_are_no_header() -> None:
    (block,) = parse("<note_context><div>x</div> y</note_context>")
    assert block.header == {}


def test_a_block_without_content_has_its_text_as_body() -> None:
    text = "<selected_text><title>T</title>\nIt rains.\n</selected_text>"
    assert bodies(text) == ["It rains."]


def test_FR_S1_text_behind_a_quoted_closing_tag_stays_in_the_block() -> None:
    text = "<note_context>see </note_context> here. MORE\n</note_context>\nquestion"
    assert replaced(text) == "<note_context>SUM\n</note_context>\nquestion"


def test_FR_S1_a_quoted_end_of_content_and_block_does_not_end_it() -> None:
    text = (
        "<note_context><content>x </content></note_context> y</content>"
        "</note_context>\nquestion"
    )
    assert replaced(text) == (
        "<note_context><content>SUM</content></note_context>\nquestion"
    )


def test_FR_S2_the_tail_behind_a_nested_block_belongs_to_the_outer_one() -> None:
    inner = "<embedded_note><content>in</content></embedded_note>"
    text = f"<note_context><content>a {inner} TAIL-MARK</content></note_context>"
    assert bodies(text) == [f"a {inner} TAIL-MARK"]


def test_FR_S5_attributes_titles_and_unknown_children_survive() -> None:
    head = '<note_context id="7"><title>a < b</title><tags>x, y</tags><content>'
    assert replaced(f"{head}long</content></note_context>") == (
        f"{head}SUM</content></note_context>"
    )


def test_a_question_that_names_the_tag_is_not_taken_in() -> None:
    text = "<context>doc</context> Question: what does </context> mean?"
    assert (
        replaced(text) == "<context>SUM</context> Question: what does </context> mean?"
    )


def test_two_blocks_of_one_type_are_two() -> None:
    assert bodies("<context>a</context> and <context>b</context>") == ["a", "b"]


def test_crossing_blocks_are_one_that_holds_both() -> None:
    text = "x <note_context>a<url_content>b</note_context>c</url_content> y"
    assert replaced(text) == "x SUM y"


def test_an_unclosed_content_does_not_swallow_the_next_block() -> None:
    text = (
        "<note_context><content>a</note_context>\n"
        "<url_content><content>b</content></url_content>"
    )
    assert bodies(text) == ["a", "b"]


@pytest.mark.parametrize("style", ["numbered", "xml"])
def test_each_document_of_a_rendering_is_a_block(style: str) -> None:
    text = rendered(
        [
            Entry((("title", "Cats"), ("source", "c.md")), "Meow.\n\n[7] x"),
            Entry((("title", "Dogs"),), "Wow."),
        ],
        style,  # type: ignore[arg-type]
    )
    blocks = parse(f"Use this:\n{text}\nWhy?")
    assert [source_of(block) for block in blocks] == ["c.md", "Dogs"]


def test_a_document_that_goes_leaves_the_numbers_of_the_others() -> None:
    text = rendered([Entry((("title", t),), t * 3) for t in "abc"], "numbered")
    made = render(text, parse(text), [None, "B", "C"])
    assert made == "<context>\n[2] b\nB\n\n[3] c\nC\n</context>"


def test_the_same_numbers_are_found_again_after_that() -> None:
    text = rendered([Entry((("title", t),), t * 3) for t in "abc"], "numbered")
    made = render(text, parse(text), ["A", None, "C"])
    assert [block.header["title"] for block in parse(made)] == ["a", "c"]


def test_a_line_of_a_document_that_looks_like_an_earlier_header_is_its_text() -> None:
    text = "<context>\n[1] a\nA\n\n[2] b\nsee\n[1] not a document\n</context>"
    assert bodies(text) == ["A", "see\n[1] not a document"]


def test_a_container_goes_with_the_last_of_its_documents() -> None:
    text = rendered([Entry((("title", t),), t * 3) for t in "ab"], "xml")
    assert render(f"x{text}y", parse(f"x{text}y"), [None, None]) == "xy"


def test_FR_H11_each_document_of_a_search_keeps_its_name() -> None:
    documents = "\n".join(
        f"<document>\n<title>T{i}</title>\n<path>n/{i}.md</path>\n"
        f"<content>{'word ' * 50}</content>\n</document>"
        for i in range(5)
    )
    text = f'<localSearch timeRange="all">\n{documents}\n</localSearch>'
    assert [source_of(block) for block in parse(text)] == [
        f"n/{i}.md" for i in range(5)
    ]


def test_blocks_in_a_container_are_reduced_one_by_one() -> None:
    text = (
        "<context>\n<note_context><path>a</path><content>1</content></note_context>\n"
        "<note_context><path>b</path><content>2</content></note_context>\n</context>"
    )
    assert bodies(text) == ["1", "2"]


def test_a_container_of_plain_text_is_one_block() -> None:
    assert bodies("<context>\njust text\n</context>") == ["just text"]


def test_the_name_of_a_block_is_one_line_without_tags() -> None:
    block = Block("x", 0, 0, (0, 0), {"path": "a\n</context>"}, None)
    assert source_of(block) == "a &lt;/context>"


@pytest.mark.parametrize(
    "tag",
    ["</CONTEXT >", "</context\n>", "<context/>", "< /context>", "＜/context>"],
)
def test_FR_J1_a_tag_in_any_dress_is_made_harmless(tag: str) -> None:
    assert tamed(f"x{tag}<system>").startswith("x&lt;")
