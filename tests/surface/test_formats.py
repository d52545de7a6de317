"""What each format becomes: its text, its title, and what hostile members do."""

import io
import json
import os
import re
import sys
from hashlib import sha256
from pathlib import Path

import pypdf
import pytest
from hypothesis import given, strategies as st

from langchain_ctxfetch._extracting import NotReadable, extract, receive
from langchain_ctxfetch._notations import json_text, notebook_text, rst_title
from langchain_ctxfetch._webpages import page_text
from langchain_ctxfetch.ingestion import SyncReport, sync_folder
from tests.surface.filebytes import docx, pdf

PAGE = """<!doctype html><html><head><title> Green
&amp; tea </title><style>p{color:red}</style><script>var x="<b>no</b>"</script></head>
<body><nav><a href="/">Home</a></nav><h1>Tea</h1><p>Steep <b>green</b> tea<br>
at 80&nbsp;degrees.</p><p hidden>secret</p><!-- remark -->
<ul><li>one<ol><li>in<li>ner</ol></li><li><p>two</p></li></ul>
<table><tr><th>tea<th>a | b</tr><tr><td>green<td>80<p>C</tr><tr></table>
<pre><code>
def f():
    return "```"
</code></pre><img src=x alt="A cup"></body></html>"""

PAGE_TEXT = """# Tea

Steep green tea
at 80 degrees.

- one
  1. in
  2. ner
- two

| tea | a \\| b |
| --- | --- |
| green | 80 C |

````
def f():
    return "```"
````

A cup
"""


def notebook(*cells, **more) -> str:
    return json.dumps({"cells": list(cells), "nbformat": 4, **more})


def cell(kind, source) -> dict:
    return {"cell_type": kind, "source": source, "outputs": [{"text": "put out"}]}


# --- worked examples ------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "kind", "text", "title"),
    [
        ("a.html", PAGE, "html", PAGE_TEXT, "Green & tea"),
        ("a.HTM", "<h1>A <i>b</i></h1><p>c", "html", "# A b\n\nc\n", "A b"),
        ("a.html", "<p>c", "html", "c\n", "a.html"),
        ("a.rst", ".. _x:\n\nTea\n===\n\nHot.", "rst", None, "Tea"),
        ("a.json", '{"title": "Tea", "n": 1}', "json", None, "Tea"),
        ("a.json", '[{"title": "Tea"}]', "json", None, "a.json"),
        ("a.jsonl", '{"title": "x"}\n{"title": "y"}', "jsonl", None, "a.jsonl"),
        ("a.csv", "tea,degrees\ngreen,80\n", "csv", None, "a.csv"),
        ("a.tsv", "tea\tdegrees\ngreen\t80\n", "tsv", None, "a.tsv"),
        (
            "a.ipynb",
            notebook(cell("markdown", ["# Tea\n", "Hot."]), cell("code", "steep()\n")),
            "ipynb",
            "# Tea\nHot.\n\n```python\nsteep()\n```\n",
            "Tea",
        ),
        (
            "a.pdf",
            pdf("Steep tea.", "Brew coffee.", title="Drinks"),
            "pdf",
            "[page 1]\n\nSteep tea.\n\n[page 2]\n\nBrew coffee.\n",
            "Drinks",
        ),
        (
            "a.docx",
            docx("Tea", "Steep it."),
            "docx",
            "# Tea\n\nSteep it.\n\n| tea | 80 |\n| --- | --- |\n| tea | 80 |\n",
            "Tea",
        ),
    ],
)
def test_what_a_format_becomes(
    store, tmp_path, name, content, kind, text, title
) -> None:
    """Text, title and format, and the digest of the bytes; None: the text as it is."""
    data = content if isinstance(content, bytes) else content.encode()
    (tmp_path / name).write_bytes(data)
    report = sync_folder(store, tmp_path)
    (document,) = store.documents.values()

    assert report == SyncReport(added=1)
    assert document.text == (content if text is None else text)
    assert document.length == len(document.text)
    assert document.metadata["title"] == title
    assert document.metadata["format"] == kind
    assert document.metadata["digest"] == sha256(data).hexdigest()


def test_a_pdf_says_how_many_pages_it_has(store, tmp_path) -> None:
    """In its metadata; other formats say nothing of pages."""
    (tmp_path / "a.pdf").write_bytes(pdf("a", "b", "c"))
    (tmp_path / "b.html").write_text("<p>b")
    sync_folder(store, tmp_path)

    assert store.documents["a.pdf"].metadata["pages"] == 3
    assert "pages" not in store.documents["b.html"].metadata


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("Microsoft Word - Tea", "Tea"),
        ("tea.indd", "a.pdf"),
        (" ", "a.pdf"),
        ("x" * 400, "x" * 299 + "…"),
    ],
)
def test_the_name_of_a_file_is_no_title_of_a_pdf(store, tmp_path, said, title) -> None:
    """Programs put it there; it says less than the name of the file itself."""
    (tmp_path / "a.pdf").write_bytes(pdf("a", title=said))
    sync_folder(store, tmp_path)

    assert store.documents["a.pdf"].metadata["title"] == title


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("<p>é".encode("utf-16"), "é\n"),
        (b"\xef\xbb\xbf<p>\xc3\xa9", "é\n"),
        (b'<meta charset="ISO-8859-1"><p>\x93\xe9', "“é\n"),
        ("<meta charset=shift_jis><p>茶".encode("shift_jis"), "茶\n"),
    ],
)
def test_a_page_says_how_its_letters_are_written(data, text) -> None:
    """By a mark, or by name; what browsers take for Latin-1 is taken here."""
    assert extract("html", data, 100).text == text


@pytest.mark.parametrize("name", [b"idna", b"zip", b"utf-7", b"no-such"])
def test_not_every_encoding_is_taken(name) -> None:
    """Those that are slow, or no letters at all, are none of a page."""
    with pytest.raises(NotReadable, match="not UTF-8"):
        extract("html", b"<meta charset=" + name + b"><p>\xff", 100)


def test_tables_that_lay_out_a_page_are_no_tables() -> None:
    """What they hold comes as it stands, each cell for itself."""
    html = "<table><tr><td><h1>A</h1>b<td><table><tr><td>c<td>d</table></table>e"

    assert page_text(html)[0] == "# A\n\nb\n\n| c | d |\n| --- | --- |\n\ne\n"


def test_what_holds_no_text_leaves_no_mark() -> None:
    """Neither an empty heading nor an empty item of a list."""
    assert page_text("<h2> </h2><ul><li><li>a</ul><table><tr><td></table>b")[0] == (
        "- a\n\nb\n"
    )


# --- JSON -----------------------------------------------------------------------


def test_json_in_one_line_is_laid_out() -> None:
    """Objects line by line, lists of plain values in one; nothing is computed."""
    text = '{"a":[1.50,2e3],"b":[{"c":null},[true]],"d":{},"a":"' + "x" * 2_000 + '"}'

    assert json_text(text)[0] == (
        '{\n  "a": [1.50, 2e3],\n  "b": [\n    {\n      "c": null\n    },\n    [true]\n'
        '  ],\n  "d": {},\n  "a": "' + "x" * 2_000 + '"\n}'
    )


def test_letters_written_as_numbers_are_letters() -> None:
    r"""So they can be found; what JSON itself needs escaped stays so."""
    text = r'["\u8336", "\ud83c\udf75", "\\u8336", "\ud800", "\u0022", "\u000a"]'

    assert json_text(text)[0] == (
        r'["茶", "🍵", "\\u8336", "\ud800", "\u0022", "\u000a"]'
    )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(json_values, st.booleans())
def test_laying_out_changes_no_value(value, plain) -> None:
    """What is read from it is what was written."""
    long = "x" * 2_001
    written = json.dumps([long, value], ensure_ascii=plain, separators=(",", ":"))

    assert repr(json.loads(json_text(written)[0])) == repr(json.loads(written))


@given(st.text(st.sampled_from('{}[],:"\\u0dD8 \nx'), max_size=200))
def test_whatever_is_no_json_keeps_its_letters(text) -> None:
    """Nothing raises, and nothing but white space comes or goes."""
    made, _ = json_text(text.replace("\\u", "") + "y" * 2_001)

    assert re.sub(r"\s", "", made[:-2_001]) == re.sub(
        r"\s", "", text.replace("\\u", "")
    )


def test_nesting_does_not_make_a_text_of_spaces() -> None:
    """Deep levels are indented no further, so length stays in proportion."""
    made, _ = json_text("[" * 5_000 + "1,2" + "]" * 5_000)

    assert len(made) < 10_000 + 500
    assert made.startswith("[\n  [\n    [\n")
    assert "[1, 2]" in made


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ('{"a": {"title": "no"}, "title": "yes"}', "yes"),
        ('{"a": "title", "b": "title"}', None),
        ('{"title": ["a"]}', None),
        ('{"title": 7}', None),
        (r'{"title": "a\"b\u00e9"}', 'a"bé'),
        ('{"title": "never ends', None),
        ("[" * 100_000, None),
    ],
)
def test_the_title_of_json_is_on_the_uppermost_level(text, title) -> None:
    """Under the key, and a text."""
    assert json_text(text)[1] == title


# --- notebooks and reStructuredText ---------------------------------------------


def test_code_that_holds_fences_is_fenced_by_longer_ones() -> None:
    """It ends where it ends."""
    made = notebook_text(notebook(cell("code", "a = '''\n````\n'''")))

    assert made == "`````python\na = '''\n````\n'''\n`````\n"


def test_a_notebook_says_its_language() -> None:
    """A name that is none is not written into the text."""
    for name, shown in (("julia", "julia"), ("a`\nb", "python"), (7, "python")):
        about = {"language_info": {"name": name}}
        made = notebook_text(notebook(cell("code", "x"), metadata=about))

        assert made == f"```{shown}\nx\n```\n"


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"cells": 7}', "[" * 100_000, '{"a":' * 100_000],
)
def test_what_is_no_notebook_is_damaged(store, tmp_path, text) -> None:
    """It is passed over, however deep it is."""
    (tmp_path / "a.ipynb").write_text(text or "x")

    assert sync_folder(store, tmp_path) == SyncReport(skipped={"damaged": ("a.ipynb",)})


@pytest.mark.parametrize("odd", [None, 7, {"a": 1}, [1, None, "x"], "x"])
def test_odd_cells_do_not_stop_a_notebook(odd) -> None:
    """What is no text is left out."""
    made = notebook_text(
        notebook(odd, cell(odd, odd), cell("code", odd), cell("raw", "r"))
    )

    assert "put out" not in made


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("=====\n Tea\n=====\n", "Tea"),
        ("text\n\nTea\n~~~~~\nx", "Tea"),
        ("Green tea\n===\n", None),
        ("=====\n\n====\n", None),
        (".. note\n-------\n\nTea\n---\n", "Tea"),
        ("", None),
        ("=" * 100_000, None),
    ],
)
def test_the_title_of_rst_has_a_rule_below(text, title) -> None:
    """As long as the title at least, and it is no comment."""
    assert rst_title(text) == title


# --- hostile files --------------------------------------------------------------

BOMB = (
    '<!DOCTYPE d [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(12))
    + "]>"
)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.pdf", b"no pdf", "damaged"),
        ("a.pdf", pdf("tea")[:300], "damaged"),
        ("a.pdf", b"%PDF-1.4\n" + b"[" * 100_000, "damaged"),
        ("a.pdf", pdf("tea").replace(b"/Kids [4 0 R]", b"/Kids [2 0 R]"), None),
        ("a.pdf", pdf(" "), "blank"),
        ("a.pdf", pdf("x" * 101), "too large"),
        ("a.docx", b"PK no zip", "damaged"),
        ("a.docx", docx("a", "x" * 2_000), "too large"),
        ("a.html", b"<script>x</script>", "blank"),
        ("a.html", b"<p>" + b"x" * 101, "too large"),
        ("a.html", b"\xff", "not UTF-8"),
    ],
)
def test_a_hostile_file_has_a_reason(name, content, reason) -> None:
    """Nothing but the answer that it cannot be read ever comes of it."""
    with pytest.raises(NotReadable) as told:
        extract(name.partition(".")[2], content, 100)

    assert reason is None or str(told.value) == reason


def test_a_word_file_that_unpacks_to_much_is_not_unpacked() -> None:
    """What counts is what its parts hold, not what would be left of them."""
    with pytest.raises(NotReadable, match="too large"):
        extract("docx", docx("a", " " * 5_000), 100)


def test_a_pdf_with_a_password_is_encrypted(tmp_path) -> None:
    """One with an empty password is read, as every reader does."""
    for password in ("secret", ""):
        writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf("tea")))
        writer.encrypt(password, "owner", algorithm="RC4-128")
        writer.write(tmp_path / f"a{password}.pdf")
    with pytest.raises(NotReadable, match="encrypted"):
        extract("pdf", (tmp_path / "asecret.pdf").read_bytes(), 100)

    assert "tea" in extract("pdf", (tmp_path / "a.pdf").read_bytes(), 100).text


@pytest.mark.parametrize(("head", "body"), [(b"{}", 101), (b" " * 1_000_001, 0)])
def test_a_message_may_not_claim_any_length(head, body) -> None:
    """It comes from a process that a file may have got hold of."""
    lengths = len(head).to_bytes(8, "big") + body.to_bytes(8, "big")

    with pytest.raises(ValueError, match="no message"):
        receive(io.BytesIO(lengths + head + b"x" * body), 100)


def test_entities_of_entities_are_not_resolved() -> None:
    """A Word file of some hundred bytes could say as much as a library."""
    with pytest.raises(NotReadable, match="damaged"):
        extract("docx", docx("a", "&m;", BOMB), 20_000_000)


@pytest.mark.parametrize(
    "html",
    [
        "<" * 100_000,
        "<!--" * 100_000,
        "<![CDATA[" * 100_000,
        "&a" * 100_000,
        "<b>" * 10_000 + "x" + "<p>" * 10_000,
        "<ul><li>" * 2_000 + "x",
        "<table><tr><td>" * 300 + "x",
        f"<p a='{'x' * 1_000_000}'>x",
    ],
)
def test_broken_pages_are_read_in_proportion(html) -> None:
    """No nesting and no length makes much of a little."""
    assert len(page_text(html + "\0\ud800")[0]) < 30 * len(html)


@given(st.text(st.sampled_from("<>/=\"' &;!-abhlprtud123"), max_size=300))
def test_no_page_is_too_broken(html) -> None:
    """Whatever stands there, some text comes of it."""
    made, title = page_text(html)

    assert made.endswith("\n")
    assert title is None or title.strip()


# --- a second run ---------------------------------------------------------------


def test_another_reader_reads_anew(store, tmp_path) -> None:
    """What an earlier version made of a file is not left there."""
    (tmp_path / "a.html").write_text("<p>a")
    (tmp_path / "b.txt").write_text("b")
    sync_folder(store, tmp_path)
    for earlier in (0, None):
        store.documents["a.html"].metadata["reader"] = earlier

        assert sync_folder(store, tmp_path) == SyncReport(updated=1, unchanged=1)
        assert store.documents["a.html"].metadata["reader"] == 1


def test_nothing_is_read_twice(store, tmp_path) -> None:
    """A file that was touched alone is not taken apart again."""
    (tmp_path / "a.html").write_text("<p>a")
    sync_folder(store, tmp_path)
    os.utime(tmp_path / "a.html", (1, 1))
    store.batches.clear()

    assert sync_folder(store, tmp_path) == SyncReport(unchanged=1)
    assert store.batches == []


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("a.html", "selectolax", "cli"),
        ("a.pdf", "pypdf", "pdf"),
        ("a.docx", "mammoth", "docx"),
    ],
)
def test_a_missing_extra_is_named_and_stops_nothing(
    store, tmp_path, monkeypatch, name, package, extra
) -> None:
    """The others are written, and what was stored before stays."""
    content = {"a.html": b"<p>a", "a.pdf": pdf("a"), "a.docx": docx("a", "b")}[name]
    (tmp_path / name).write_bytes(content)
    sync_folder(store, tmp_path)
    os.utime(tmp_path / name, (1, 1))
    (tmp_path / "b.txt").write_text("b")
    monkeypatch.setitem(sys.modules, package, None)
    report = sync_folder(store, tmp_path)

    assert report == SyncReport(added=1, skipped={f"needs the extra {extra}": (name,)})
    assert sorted(store.documents) == [name, "b.txt"]


def test_a_file_that_is_damaged_now_is_removed(store, tmp_path) -> None:
    """Its document would say what it says no more."""
    path = Path(tmp_path, "a.pdf")
    path.write_bytes(pdf("tea"))
    sync_folder(store, tmp_path)
    path.write_bytes(b"broken")
    report = sync_folder(store, tmp_path)

    assert report == SyncReport(removed=1, skipped={"damaged": ("a.pdf",)})
