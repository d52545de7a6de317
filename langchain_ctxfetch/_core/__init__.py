"""The decisions of this package: no I/O, no clock, no randomness, no framework."""
