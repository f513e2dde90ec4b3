/* Lua scripts: heuristics, scorers, schedulers and domains in Lua 5.4, and Lua tables that configure a run.
 *
 * Order of use: rill_context_create(), rill_register_builtins(), rill_script_load(), which registers the script's declarations. If the
 * script returned a table: rill_script_config_read().
 * Ownership: a script belongs to its context. Destroy engines and models that use the script before the context.
 * Threads: a script has one Lua state, and belongs with its context to one thread at a time.
 *
 * Scripts are sandboxed unless `unsafe` is set (docs/scripting.md). Lua errors and exceeded limits return RILL_ERR_PLUGIN or
 * RILL_ERR_MEMORY, with a traceback in rill_error().
 * Stability: structs are only appended to. */
#ifndef RILL_SCRIPT_H
#define RILL_SCRIPT_H

#include "rill/engine.h"

RILL_C_BEGIN

typedef struct rill_script rill_script;

typedef struct rill_script_options {
    size_t struct_size;
    int unsafe; /* 1: the script may use io, os and rill.ffi; 0: sandboxed */
    /* limit on the script's memory in bytes, plus up to a quarter for small blocks; 0 = 256 MiB */
    size_t memory;
    /* limit on Lua instructions per call; 0 = 200 million, negative = none */
    int64_t instructions;
    /* receives each line that the script prints, without newline; NULL: rill_log() at level info */
    void (*print)(void *user, const char *line);
    void *print_user;
    /* limit on CPU seconds per call; 0 = 10, or none if `instructions` is negative; negative = none */
    double seconds;
} rill_script_options;

/* Run a Lua file and register its heuristics, scorers, schedulers and domains, all or none.
 *   options: NULL for defaults
 *   *out: owned by the context; NULL on failure
 *   RILL_OK · RILL_ERR_NOT_FOUND, RILL_ERR_IO, RILL_ERR_FORMAT (the file is missing, unreadable, too large) ·
 *   RILL_ERR_PLUGIN (an error in the script, with traceback) · RILL_ERR_ARGUMENT (a name is taken) · RILL_ERR_MEMORY ·
 *   RILL_ERR_ABI (struct_size of the options) */
RILL_API rill_status rill_script_load(rill_script **out, rill_context *ctx, const char *path,
                                      const rill_script_options *options);

/* Returns 1 if the script returned a value (a run configuration), else 0. */
RILL_API int rill_script_returned(const rill_script *script);

/* rill_script_load() of a text in memory. name: file name for messages. */
RILL_API rill_status rill_script_load_text(rill_script **out, rill_context *ctx, const char *name, const char *text,
                                           size_t length, const rill_script_options *options);

/* Record masks (boolean arrays) that the script creates but never uses. Usually they are mistakes: Lua's `a and b` and `not a` do not
 * combine masks.
 *   RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_script_watch(rill_script *script);
/* Return "FILE:LINE" number i, from 0, of the script lines whose masks were never used; NULL past the last. Valid as long as the script. */
RILL_API const char *rill_script_unused_mask(const rill_script *script, size_t i);

RILL_C_END

#endif
