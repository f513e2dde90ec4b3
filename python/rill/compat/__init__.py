"""Interfaces of other decoders on top of rill: a program changes only its import."""
