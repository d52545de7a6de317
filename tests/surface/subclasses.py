"""Subclasses of every public class of ours that has fields, typed by later classes."""

from __future__ import annotations

from langchain_ctxfetch import (
    ContentPolicyCompressor,
    ContextRenderer,
    HybridRetriever,
)


class MyRetriever(HybridRetriever):
    later: Later | None = None


class MyCompressor(ContentPolicyCompressor):
    later: Later | None = None


class MyRenderer(ContextRenderer):
    later: Later | None = None


class Later:
    pass
