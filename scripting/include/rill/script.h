/* Lua scripts: heuristics, scorers, schedulers and domains written in Lua 5.4, and runs configured by a Lua table.
 *
 * Order of use: rill_context_create(), rill_register_builtins(), rill_script_load(); what the script declared is then
 * registered under its names like any plugin's, and what its last line returned can be read as a configuration
 * (rill_script_config_read()). A script belongs to its context, which destroys it; engines and models that use what it
 * declared must be gone by then. One Lua state per script; a script and its context belong to one thread at a time.
 *
 * Scripts are sandboxed unless `unsafe` is set: docs/scripting.md says what they can reach. Lua errors, exceeded limits and
 * failed allocations surface as RILL_ERR_PLUGIN or RILL_ERR_MEMORY with the script's traceback in rill_error().
 * Stability: structs are only appended to. */
#ifndef RILL_SCRIPT_H
#define RILL_SCRIPT_H

#include "rill/engine.h"

RILL_C_BEGIN

typedef struct rill_script rill_script;

typedef struct rill_script_options {
    size_t struct_size;
    int unsafe;           /* open io, os and rill.ffi */
    size_t memory;        /* bytes the script may hold; 0 = 256 MiB. What small blocks waste adds at most a quarter */
    int64_t instructions; /* Lua instructions per call into the script; 0 = 200 million, negative = no limit */
    /* Called with each line the script prints, without newline. NULL: rill_log() at level info. */
    void (*print)(void *user, const char *line);
    void *print_user;
    /* Processor seconds per call into the script, for work that instructions do not measure; 0 = 10, or no limit if
     * `instructions` has none; negative = no limit. The limit only aborts calls; it never changes the result of a call
     * that completes. */
    double seconds;
} rill_script_options;

/* Run the file at `path`; register what it declares.
 *   options: NULL for defaults
 *   *out: the script, owned by the context
 *   RILL_OK · RILL_ERR_NOT_FOUND, RILL_ERR_IO, RILL_ERR_FORMAT (the file: not there, not readable, too large) ·
 *   RILL_ERR_PLUGIN (an error in the script: file, line, traceback) · RILL_ERR_ARGUMENT (a name is taken) · RILL_ERR_MEMORY ·
 *   RILL_ERR_ABI (struct_size of the options). After a failure *out is NULL and nothing it declared stays registered. */
RILL_API rill_status rill_script_load(rill_script **out, rill_context *ctx, const char *path,
                                      const rill_script_options *options);

/* Whether the script's last line returned a value, as a run configuration does. */
RILL_API int rill_script_returned(const rill_script *script);

/* The same for text in memory; `name` stands for the file in messages. */
RILL_API rill_status rill_script_load_text(rill_script **out, rill_context *ctx, const char *name, const char *text,
                                           size_t length, const rill_script_options *options);

/* Watch the masks that later calls of the script make. Lua's `a and b`, `a or b` and `not a` do not work on masks, and
 * leave a mask unused.
 *   RILL_OK · RILL_ERR_MEMORY */
RILL_API rill_status rill_script_watch(rill_script *script);
/* "FILE:LINE" of masks that a watched script made without using them, in every call so far that made some there. i:
 * from 0, in order of first occurrence; NULL past the end. Valid as long as the script. */
RILL_API const char *rill_script_unused_mask(const rill_script *script, size_t i);

/* Bytes held by the script now. */
RILL_API size_t rill_script_memory(const rill_script *script);

RILL_C_END

#endif
