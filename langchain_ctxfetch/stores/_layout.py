"""How rows form passages, sections and documents: columns in memory.

A *section* is a run of neighbouring passages of one document, together at most
`SECTION` characters long. Sections slide: each begins at a passage and takes in what
fits, unless another has it all already.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from langchain_ctxfetch.stores._postings import Integers, Mask

SECTION = 2_000
"""The most characters of a section that has more than one passage."""

TITLE_IN_SECTION = 3
"""How often the words of a title count in each section of its document."""

TITLE_IN_PASSAGE = 1
"""How often they count in each passage."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Hold the rows as they are stored, in order; a title is a row of no length.

    Attributes:
        document: The ordinal of the document.
        start: Where the passage begins, in characters of the text.
        end: Where it ends.
        terms: How many terms it has.
    """

    document: Integers
    start: Integers
    end: Integers
    terms: Integers

    def __len__(self) -> int:
        return len(self.document)

    @classmethod
    def read(cls, blob: bytes, first_document: int) -> Columns:
        """Read the columns of one batch.

        Args:
            blob: Four columns of int32, one after another.
            first_document: The ordinal that the first column counts from.

        Returns:
            The columns.

        Raises:
            ValueError: If the bytes are no columns.
        """
        document, start, end, terms = np.frombuffer(blob, "<i4").reshape(4, -1)
        wide = document.astype(np.int64) + first_document
        return cls(wide, *(x.astype(np.int64) for x in (start, end, terms)))

    @classmethod
    def joined(cls, parts: list[Columns]) -> Columns:
        """Lay columns end to end."""
        if not parts:
            nothing = np.empty(0, np.int64)
            return cls(nothing, nothing, nothing, nothing)
        return cls(
            np.concatenate([part.document for part in parts]),
            np.concatenate([part.start for part in parts]),
            np.concatenate([part.end for part in parts]),
            np.concatenate([part.terms for part in parts]),
        )


@dataclass(frozen=True, slots=True)
class Layout:
    """Hold passages, sections and documents by position, each in the order of rows.

    Attributes:
        documents: The ordinal of each document, rising.
        code: For each row its passage, or -1 - document for a title.
        passage_document: The document of each passage.
        start: Where each passage begins in its document's text.
        end: Where it ends.
        passage_terms: The length of each passage in terms, the title's included.
        first_passage: The first passage of each document, and the end of all.
        section_document: The document of each section.
        section_first: The first passage of each section.
        section_end: The passage after its last.
        section_terms: The length of each section in terms, the title's included.
        first_section: The first section of each document, and the end of all.
    """

    documents: Integers
    code: Integers
    passage_document: Integers
    start: Integers
    end: Integers
    passage_terms: Integers
    first_passage: Integers
    section_document: Integers
    section_first: Integers
    section_end: Integers
    section_terms: Integers
    first_section: Integers

    def passages_of(self, document: int) -> slice:
        """Return where the passages of a document stand."""
        return slice(
            int(self.first_passage[document]), int(self.first_passage[document + 1])
        )


@dataclass(frozen=True, slots=True)
class Totals:
    """Hold what the formula needs to know of all living documents.

    Attributes:
        passages: How many passages there are.
        sections: How many sections.
        passage_terms: The mean length of a passage in terms; 1 where there is none.
        section_terms: The mean length of a section.
    """

    passages: int
    sections: int
    passage_terms: float
    section_terms: float

    @classmethod
    def of(cls, layout: Layout, living: Mask) -> Totals:
        """Count and average over the living documents."""
        passages = layout.passage_terms[living[layout.passage_document]]
        sections_ = layout.section_terms[living[layout.section_document]]
        return cls(len(passages), len(sections_), _mean(passages), _mean(sections_))


def _mean(lengths: Integers) -> float:
    # Texts of punctuation have no terms at all; nothing is found in them, but the
    # formula must not divide by their length.
    return int(lengths.sum()) / len(lengths) if lengths.any() else 1.0


def lay_out(columns: Columns) -> Layout:
    """Work out passages and sections from rows.

    Args:
        columns: All rows; those of one document are neighbours.

    Returns:
        The layout.
    """
    documents, of_row = np.unique(columns.document, return_inverse=True)
    title = columns.end == 0
    code = np.where(title, -1 - of_row, np.cumsum(~title) - 1)
    titles = np.zeros(len(documents), np.int64)
    titles[of_row[title]] = columns.terms[title]
    document = of_row[~title]
    start, end, terms = (x[~title] for x in (columns.start, columns.end, columns.terms))
    section_first, section_end = sections(document, start, end)
    section_document = document[section_first]
    running = np.concatenate([[0], np.cumsum(terms)])
    return Layout(
        documents=documents,
        code=code,
        passage_document=document,
        start=start,
        end=end,
        passage_terms=terms + TITLE_IN_PASSAGE * titles[document],
        first_passage=_firsts(document, len(documents)),
        section_document=section_document,
        section_first=section_first,
        section_end=section_end,
        section_terms=running[section_end]
        - running[section_first]
        + TITLE_IN_SECTION * titles[section_document],
        first_section=_firsts(section_document, len(documents)),
    )


def sections(
    document: Integers, start: Integers, end: Integers, size: int = SECTION
) -> tuple[Integers, Integers]:
    """Return the first passage of each section, and the passage after its last.

    >>> zero = np.zeros(3, np.int64)
    >>> first, end = sections(zero, np.array([0, 5, 9]), np.array([5, 9, 14]), size=9)
    >>> first.tolist(), end.tolist()
    ([0, 1], [2, 3])

    Args:
        document: The document of each passage, rising.
        start: Where the passage begins, in characters.
        end: Where it ends, in characters.
        size: The most characters of a section of more than one passage.

    Returns:
        Positions of passages; a section never crosses documents, and none lies
        within another.
    """
    if not len(document):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    # Documents stand so far apart on one line that no section reaches the next.
    reach = np.maximum.accumulate(end)
    apart = document * (int(reach[-1]) + size + 1)
    line_end = np.maximum.accumulate(apart + end)
    past = np.searchsorted(line_end, apart + start + size, side="right")
    past = np.maximum(past, np.arange(len(document)) + 1)
    new = np.concatenate([[True], past[1:] > np.maximum.accumulate(past)[:-1]])
    first = np.flatnonzero(new)
    return first, past[first]


def _firsts(of: Integers, documents: int) -> npt.NDArray[np.int64]:
    """Return where each document begins in a rising column of documents."""
    return np.searchsorted(of, np.arange(documents + 1))
