"""Takes the text out of files, where need be in a process of its own.

A file that another package reads may crash it, hang or fill the memory. So this module
is also a program: it reads requests from its input and writes answers to its output,
and whoever has started it ends it when an answer does not come.
"""

from __future__ import annotations

import io
import json
import logging
import struct
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any, BinaryIO

from langchain_ctxfetch._core.text import clean
from langchain_ctxfetch._formats import Extract, format_named
from langchain_ctxfetch._webpages import decoded, page_text

MOST_MEMORY = 2 << 30
"""The most address space of the process, in bytes, where the system can say so."""

_LENGTH = struct.Struct(">Q")
_MOST_HEAD = 1_000_000  # bytes
_LONGEST_TITLE = 1_000  # characters


class NotReadable(Exception):  # noqa: N818 - it is an answer, nothing went wrong
    """Say why a file has no text that can be had: one of the reasons to skip it."""


def extract(name: str, data: bytes, most: int) -> Extract:
    r"""Return what a file says.

    >>> extract("html", b"<title>Tea</title><p>Green.", 100)
    Extract(text='Green.\n', title='Tea', pages=None)

    Args:
        name: The name of its format.
        data: Its bytes.
        most: The most characters of its text.

    Returns:
        Its text and title.

    Raises:
        NotReadable: If there is nothing to be had, with the reason.
    """
    try:
        reader = _READERS.get(name)
        found = reader(data, most) if reader else _plain(name, data)
    except NotReadable:
        raise
    except MemoryError as error:
        raise NotReadable("too large") from error
    except Exception as error:
        # Whatever a package raises: it is the file that is not as it should be.
        raise NotReadable("damaged") from error
    if len(found.text) > most:
        raise NotReadable("too large")
    if not found.text.strip():
        raise NotReadable("blank")
    title = found.title and clean(found.title[:_LONGEST_TITLE])
    return found._replace(text=clean(found.text), title=title)


def _plain(name: str, data: bytes) -> Extract:
    """Read UTF-8 text without its byte order mark."""
    take = format_named(name).take
    if b"\0" in data or take is None:
        raise NotReadable("binary")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotReadable("not UTF-8") from error
    return take(text)


def _html(data: bytes, most: int) -> Extract:  # noqa: ARG001 - one signature for all
    try:
        html = decoded(data)
    except ValueError as error:
        raise NotReadable("not UTF-8") from error
    return Extract(*page_text(html))


def _docx(data: bytes, most: int) -> Extract:
    with zipfile.ZipFile(io.BytesIO(data)) as parts:
        # Pictures are left where they are.
        texts = [part for part in parts.infolist() if part.filename.endswith(".xml")]
        if sum(part.file_size for part in texts) > 10 * most:
            raise NotReadable("too large")
    mammoth = import_module("mammoth")
    no_pictures = mammoth.images.img_element(lambda _: {})
    made = mammoth.convert_to_html(io.BytesIO(data), convert_image=no_pictures)
    text, title = page_text(made.value)
    return Extract(text, title)


def _pdf(data: bytes, most: int) -> Extract:
    pypdf = import_module("pypdf")
    file = pypdf.PdfReader(io.BytesIO(data), strict=False)
    if file.is_encrypted and not _opens(file):
        raise NotReadable("encrypted")
    texts = list(_page_texts(file, most))
    if not any(map(str.strip, texts)):
        return Extract("")
    pages = (f"[page {n}]\n\n{text.strip()}" for n, text in enumerate(texts, 1))
    return Extract("\n\n".join(pages) + "\n", _pdf_title(file), len(texts))


def _opens(file: Any) -> bool:  # noqa: ANN401 - untyped package
    """Say whether a file that is encrypted can be read without a password."""
    with suppress(Exception):  # some need a package more
        return bool(file.decrypt(""))
    return False


def _page_texts(file: Any, most: int) -> Iterator[str]:  # noqa: ANN401 - untyped package
    """Yield the text of each page; a page that cannot be read is blank."""
    left = most
    for page in file.pages:
        text = ""
        with suppress(ValueError, LookupError, TypeError, AttributeError, OSError):
            text = str(page.extract_text())
        left -= len(text)
        if left < 0:
            raise NotReadable("too large")
        yield text


def _pdf_title(file: Any) -> str | None:  # noqa: ANN401 - untyped package
    """Return the title that a file gives itself, unless that is the name of a file."""
    title = ""
    with suppress(Exception):
        title = " ".join(str(file.metadata.title or "").split())
    title = title.removeprefix("Microsoft Word - ")
    is_name = title.lower().endswith((".doc", ".docx", ".pdf", ".tex", ".dvi", ".indd"))
    return None if is_name else title or None


_READERS: Mapping[str, Callable[[bytes, int], Extract]] = {
    "html": _html,
    "pdf": _pdf,
    "docx": _docx,
}


def send(stream: BinaryIO, about: Mapping[str, object], body: bytes = b"") -> None:
    """Write one message: what it is about, as JSON, and its body."""
    head = json.dumps(about).encode()
    stream.write(_LENGTH.pack(len(head)) + _LENGTH.pack(len(body)) + head)
    stream.write(body)
    stream.flush()


def receive(
    stream: BinaryIO, most: int = MOST_MEMORY
) -> tuple[Mapping[str, Any], bytes]:
    """Read one message.

    Args:
        stream: Where it comes from.
        most: The most bytes of its body.

    Returns:
        What it is about, and its body.

    Raises:
        EOFError: If the other side has ended.
        ValueError: If it is no message.
    """
    lengths = _exactly(stream, 2 * _LENGTH.size)
    head, body = (length for (length,) in _LENGTH.iter_unpack(lengths))
    if head > _MOST_HEAD or body > most:
        raise ValueError("no message")
    about = json.loads(_exactly(stream, head))
    if not isinstance(about, dict):
        raise ValueError("no message")  # noqa: TRY004 - it came from elsewhere
    return about, _exactly(stream, body)


def _exactly(stream: BinaryIO, length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


def main() -> None:
    """Answer requests until there are no more."""
    # What packages print or warn of is not an answer.
    requests, answers, sys.stdout = sys.stdin.buffer, sys.stdout.buffer, sys.stderr
    logging.disable()
    warnings.simplefilter("ignore")
    _limit_memory()
    with suppress(EOFError, BrokenPipeError):
        while True:
            about, data = receive(requests)
            try:
                found = extract(about["format"], data, about["most"])
            except NotReadable as reason:
                send(answers, {"skip": str(reason)})
            else:
                send(
                    answers,
                    {"title": found.title, "pages": found.pages},
                    found.text.encode(),
                )


def _limit_memory() -> None:
    with suppress(ImportError, ValueError, OSError):
        resource = import_module("resource")
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


if __name__ == "__main__":
    main()
