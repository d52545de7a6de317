"""Where documents are kept and found; the only part that does I/O."""
