/* Lua scripts: heuristics, scorers, schedulers and domains written in Lua 5.4, and runs configured by a Lua table.
 *
 * Order of use: rill_context_create(), rill_register_builtins(), rill_script_load(). This registers the script's declarations under
 * their names, like plugins. The value that the script returned can then be read as a run configuration (rill_script_config_read()).
 * Ownership: a script belongs to its context, which destroys it. Destroy engines and models that use its declarations before.
 * Threads: one Lua state per script; a script and its context belong to one thread at a time.
 *
 * Scripts are sandboxed unless `unsafe` is set: docs/scripting.md lists what they can access. Lua errors, exceeded limits and failed
 * allocations return RILL_ERR_PLUGIN or RILL_ERR_MEMORY, with the script's traceback in rill_error().
 * Stability: structs are only appended to. */
#ifndef RILL_SCRIPT_H
#define RILL_SCRIPT_H

#include "rill/engine.h"

RILL_C_BEGIN

typedef struct rill_script rill_script;

typedef struct rill_script_options {
    size_t struct_size;
    int unsafe; /* 1: the script can use io, os and rill.ffi; 0: it is sandboxed */
    /* maximum number of bytes allocated by the script; 0 = 256 MiB. Overhead of small blocks adds at most a quarter */
    size_t memory;
    /* maximum number of Lua instructions per call into the script; 0 = 200 million, negative = no limit */
    int64_t instructions;
    /* Called with each line that the script prints, without newline. NULL: lines go to rill_log() at level info. */
    void (*print)(void *user, const char *line);
    void *print_user;
    /* Maximum CPU seconds per call into the script, for work that the instruction count does not measure. 0 = 10, or no limit if
     * `instructions` is negative; negative = no limit. Results of calls within the limit never depend on it. */
    double seconds;
} rill_script_options;

/* Run the Lua file at `path` and register its heuristics, scorers, schedulers and domains.
 *   options: NULL for defaults
 *   *out: the script, owned by the context; NULL after a failure
 *   RILL_OK · RILL_ERR_NOT_FOUND, RILL_ERR_IO, RILL_ERR_FORMAT (the file is missing, unreadable or too large) ·
 *   RILL_ERR_PLUGIN (an error in the script: file, line, traceback) · RILL_ERR_ARGUMENT (a declared name is already
 *   registered) · RILL_ERR_MEMORY · RILL_ERR_ABI (struct_size of the options)
 * After a failure none of the script's declarations stays registered. */
RILL_API rill_status rill_script_load(rill_script **out, rill_context *ctx, const char *path,
                                      const rill_script_options *options);

/* Returns 1 if the script returned a value, which makes it a run configuration; else 0. */
RILL_API int rill_script_returned(const rill_script *script);

/* Load a script whose text is in memory, as rill_script_load() does for a file. `name` is shown as its file name in messages. */
RILL_API rill_status rill_script_load_text(rill_script **out, rill_context *ctx, const char *name, const char *text,
                                           size_t length, const rill_script_options *options);

/* Record from now on the masks (boolean arrays) that the script creates but never uses. Most are mistakes: Lua's `a and b`, `a or b` and
 * `not a` do not combine masks, but raise no error.
 *   RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_script_watch(rill_script *script);
/* Return the position "FILE:LINE" of a script line that left masks unused in every call in which it made masks. Lines are numbered from
 * i = 0 in order of first occurrence; NULL past the last. Valid as long as the script. */
RILL_API const char *rill_script_unused_mask(const rill_script *script, size_t i);

/* Return the number of bytes that the script has allocated at present. */
RILL_API size_t rill_script_memory(const rill_script *script);

RILL_C_END

#endif
