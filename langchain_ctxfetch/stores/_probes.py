"""What the stores are asked inside: a search by text or by vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from langchain_ctxfetch._core.flow import Outcome
from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch.ports import SearchRequest

Unit: TypeAlias = Literal["documents", "passages"]
"""Whether results are whole documents or single passages."""


@dataclass(frozen=True, slots=True)
class Probe(SearchRequest):
    """Be a request with what a store adds inside.

    Attributes:
        bodies: As in a request, but wanted by default.
        unit: What a result is.
        vector: The query's vector, or the error that making it ended with; None for
            a channel that needs none.
    """

    bodies: bool = True
    unit: Unit = "documents"
    vector: Outcome[Sequence[float]] | None = None

    @property
    def lacks_vector(self) -> bool:
        """Say whether its question must be embedded first; a blank one need not."""
        asked = self.channel == "vector" and bool(self.query.strip())
        return asked and self.vector is None

    @classmethod
    def of(
        cls, request: SearchRequest, vector: Outcome[Sequence[float]] | None
    ) -> Probe:
        """Return the probe that answers a request of a round."""
        names = [each.name for each in fields(SearchRequest)]
        return cls(**{name: getattr(request, name) for name in names}, vector=vector)


@dataclass(frozen=True, slots=True)
class Found:
    """Be one result.

    Attributes:
        hit: The document, or the document of the passage.
        vector: The vector of its best passage; None in a keyword search.
    """

    hit: Hit
    vector: npt.NDArray[np.float32] | None = None
