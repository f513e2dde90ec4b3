"""rill contexts: made with all built-in tables, and with a log that goes to Python's logger "rill"."""

from __future__ import annotations

from typing import Any

from . import errors
from ._native import ffi, lib
from .errors import hook


def _log_level() -> Any:
    import logging

    levels = {
        lib.RILL_LOG_DEBUG: logging.DEBUG,
        lib.RILL_LOG_INFO: logging.INFO,
        lib.RILL_LOG_WARNING: logging.WARNING,
        lib.RILL_LOG_ERROR: logging.ERROR,
    }
    return logging.getLogger("rill"), levels


@hook()
def rillpy_log(self: Any, level: int, message: Any) -> None:
    """Write a line of rill's log (rill_log_fn)."""
    logger, levels = _log_level()
    logger.log(levels.get(level, 20), "%s", ffi.string(message).decode(errors="replace"))


def make_context() -> Any:
    """Make a context, which the caller destroys."""
    out = ffi.new("rill_context **")
    options = ffi.new("rill_context_options *", {"struct_size": ffi.sizeof("rill_context_options"), "log": lib.rillpy_log})
    status = lib.rill_context_create(out, options)
    if status < 0:
        raise errors.error_of(status, "rill could not make a context")
    errors.check(out[0], lib.rill_register_builtins(out[0]))
    return out[0]
