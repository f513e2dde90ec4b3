"""Domains in Python."""

from __future__ import annotations

from typing import Any


def register(ctx: Any, domain: Any, kept: Any) -> None:
    """Register a domain in a context."""
    raise TypeError(f"domain: a name was expected, found {domain!r}")
