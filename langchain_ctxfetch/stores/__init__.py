"""Where documents are kept and found; the only part that does I/O.

Of any store of ours: `_documentstore` (documents in and out), `_vectorstore` (the
searches of LangChain), `_embedding` (asking a model), `_probes` (a search inside).

Of the embedded store: `sqlite` (the store itself) and `_upkeep` (statistics, size,
model), which put together

- the file: `_connections`, `_faults` (its errors), `_opening`, `_sql` (its schema);
- writing: `_progress`, `_preparing`, `_writing`, `_postings` (the keyword index on
  disk), `_optimizing`, `_reembedding`, `_stats`;
- reading: `_documents`, `_filtering`, `_highlighting`, and for a search `_searching`
  with `_index` and `_layout` (the keyword index in memory), `_ranking` with what
  stands beside it (exact scores), `_vectors` (exact similarity).

Of what others keep: `langchain` and what it imports, which make a channel of it.
"""
