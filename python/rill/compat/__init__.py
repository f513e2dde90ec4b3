"""Interfaces of other decoders over rill, so that a program changes one import."""
