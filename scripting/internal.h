/* What scripting's own files share. Not installed.
 *
 * Rules of the room
 *   - The engine calls scripts through C function pointers. No Lua error may cross a frame of the engine: every entry is
 *     script_call() or script_protect(). Before it, on script->L, only what allocates nothing may be done: pushing numbers,
 *     light userdata, C functions without upvalues, values of the registry by lua_rawgeti(). Strings, tables and userdata
 *     are made inside.
 *   - Code that runs inside a protected call may raise with luaL_error(); it must then own no C memory that is lost by it
 *     (userdata own theirs, or the script does).
 *   - script->L is always the running thread: state.c and guard.c see to it, whichever coroutine runs. A C function that a
 *     script calls finds its own state there.
 *   - A C function whose work goes with the size of its data, and that makes nothing of that size, tells script_charge(): bit by
 *     bit where a bit may take long, for that is where a call whose time is over ends.
 *   - Arrays over engine memory carry the stamp of the call they belong to and are refused afterwards. */
#ifndef RILL_SCRIPTING_INTERNAL_H
#define RILL_SCRIPTING_INTERNAL_H

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "rill/plugin.h"
#include "rill/script.h"

typedef struct script_table script_table;
typedef struct script_native script_native;
typedef struct script_watch script_watch;
typedef struct script_block script_block;
typedef struct script_chunk script_chunk;

enum { SCRIPT_HEAP_CLASSES = 92 };

/* memory.c */
typedef struct script_heap {
    size_t memory; /* held by Lua */
    size_t held;   /* given by the context for it */
    size_t wanted; /* bytes of the latest request that failed in this call, else 0, */
    size_t had;    /* what `memory` was then, */
    int by_limit;  /* and why: 0 the context's memory, 1 the script's limit, 2 that of a text */
    script_block *free[SCRIPT_HEAP_CLASSES];
    script_chunk *chunks; /* the latest first; blocks are carved from it */
    size_t n_chunks;
    char *bump, *bump_end; /* what is left of it */
} script_heap;

struct rill_script {
    rill_context *ctx;
    rill_script_options options; /* defaults filled in */
    lua_State *L;                /* the running thread: what callbacks run on */
    lua_State *main;
    char *path;
    size_t path_size;
    char source[LUA_IDSIZE]; /* the path as Lua writes it in messages, shortened if it is long */
    script_heap heap;
    int64_t instructions;  /* left for the call in progress */
    int64_t look_at;       /* when to look next whether its seconds are over, by a clock that is quick to read */
    int64_t began;         /* the processor's time at the first look; below 0: there was none yet */
    int exhausted;         /* a limit was met: nothing but unwinding is allowed until the outermost call ends */
    int overrun;           /* the latest script_call() failed for want of instructions or of seconds */
    int depth;             /* script_call()s in progress */
    int closing;           /* coroutine.close()s in progress */
    uint64_t stamp;        /* of the engine's call in progress; 0 between calls */
    uint64_t last_stamp;   /* of the latest call */
    const int32_t *offset; /* [items + 1] segments of the call in progress; NULL when it has none */
    int32_t items;
    int32_t cells;          /* candidates or rows: offset[items] */
    int result;             /* registry reference of what the chunk returned; LUA_NOREF if nothing */
    int array_metatable;    /* registry reference; what makes a userdata an array */
    const void *array_mark; /* its address: a type test without look-ups */
    script_table *tables;   /* vtables registered from this script */
    int domains;            /* rill.domain{}s that came to be registered */
    script_native *native;  /* rill.ffi; NULL in a sandbox */
    rill_status raised;     /* the latest that script_raise() was given */
    script_watch *watch;    /* of its masks; NULL: nobody asked */
};

/* --- state.c ------------------------------------------------------------------------------------------------------ */

/* The script that a state belongs to. Any thread of it. */
rill_script *script_of(lua_State *L);

/* Call the function below `arguments` values on top of s->L, protected, with the limits of the script. On success leaves
 * `results` values. On failure pops everything, records the error with the traceback and returns it:
 *   RILL_ERR_PLUGIN, RILL_ERR_MEMORY, or the status of a rill function that failed inside. */
rill_status script_call(rill_script *s, int arguments, int results);

/* Run C code that may raise Lua errors, protected in the same way: fn(s->L) gets `user` as light userdata. */
rill_status script_protect(rill_script *s, lua_CFunction fn, void *user);

/* Room for a message of the context, traceback included, while calls go on that may record another. */
enum { SCRIPT_MESSAGE_MAX = 4000 };

/* Raise the failure recorded in the context (by a rill function that returned `status`) as a Lua error. The script_call()
 * that it ends returns this status, unless the script catches the error. */
int script_raise(lua_State *L, rill_status status);

/* Count `work` against the instructions of the call in progress: one for each few nanoseconds of C. Raises when they are used
 * up, or its seconds are. */
void script_charge(lua_State *L, int64_t work);
/* Give the call in progress all of its instructions and seconds again. */
void script_stretch(rill_script *s);
enum { SCRIPT_NEAREST_WORK = 1000 }; /* a look for the nearest of some dozens of names */

/* Begin and end a call of the engine: arrays made between belong to it. Nests: begin returns the frame to give back. */
typedef struct script_frame {
    uint64_t stamp;
    const int32_t *offset;
    int32_t items, cells;
} script_frame;
script_frame script_begin(rill_script *s, const int32_t *offset, int32_t items);
void script_end(rill_script *s, script_frame frame);

/* --- entry.c: values of a configuration that name a heuristic, a scorer or a policy ---------------------------------- */

typedef enum script_kind { SCRIPT_HEURISTIC, SCRIPT_SCORER, SCRIPT_POLICY, SCRIPT_DOMAIN } script_kind;

enum { SCRIPT_NAME_MAX = 48, SCRIPT_ARGUMENTS_MAX = 1024 };

typedef struct script_entry {
    char name[SCRIPT_NAME_MAX];
    char arguments[SCRIPT_ARGUMENTS_MAX];
} script_entry;

/* Read the value at `index`: "name", "name:arguments", {"name", arguments...}, a declared object, {object, arguments...}, a Lua
 * function, a bound native function. Registers what has no name yet. Raises Lua errors. */
void script_entry_read(lua_State *L, int index, script_kind kind, script_entry *out);

/* --- bridge.c: what a script has declared, in the engine's tables --------------------------------------------------- */

/* Free the tables of the script; its state is closed already. */
void script_tables_free(rill_script *s);

/* --- heuristic.c, scorer.c, policy.c: what their first arguments stand for ------------------------------------------- */

/* The engine's struct behind the `b`, `rows` or `flight` at `index`; a Lua error if it is something else or its call is over. */
rill_beams *script_beams_check(lua_State *L, int index);
const rill_scorer_rows *script_rows_check(lua_State *L, int index, rill_ask_builder **ask);
const rill_flight *script_flight_check(lua_State *L, int index);

/* A budget function of the engine's from the Lua function at `index`, which gets a flight and returns a number (0: none) or nil
 * (as set). `user` belongs to the script. Raises nothing. */
rill_status script_budget_make(lua_State *L, int index, rill_budget_fn *fn, void **user);

/* --- domain.c ----------------------------------------------------------------------------------------------------- */

/* The name of the domain that the object at `index` stands for, or NULL if it is no rill.domain{}. */
const char *script_domain_name(lua_State *L, int index);

/* --- native.c ----------------------------------------------------------------------------------------------------- */

/* Whether the value is a function that rill.ffi bound, and its registration, once per value. Raises Lua errors. */
int script_native_is(lua_State *L, int index);
void script_native_register(lua_State *L, int index, script_kind kind, char name[SCRIPT_NAME_MAX]);

/* Free the callbacks and unload the libraries of the script; its state is closed already. */
void script_native_free(rill_script *s);

/* --- array.c ------------------------------------------------------------------------------------------------------ */

typedef enum array_type { ARRAY_F64, ARRAY_F32, ARRAY_I32, ARRAY_I64, ARRAY_U8 } array_type;
typedef enum array_level {
    ARRAY_PLAIN, /* n values that belong to nothing */
    ARRAY_ITEMS, /* one per item of the call */
    ARRAY_CELLS, /* one per candidate or row: segments of items */
} array_level;

/* What assignments to elements of an array do. */
typedef enum array_writing {
    ARRAY_READ_ONLY,
    ARRAY_ANY,   /* take any number that the type has */
    ARRAY_MARKS, /* take marks alone: script_array_check_marks() */
} array_writing;

/* Push an array over memory of the engine. Valid until script_end(). Needs a call in progress,
 * n == its items or cells for these levels, and data[0] to be the first of the first segment. */
void script_array_push(lua_State *L, array_type type, const void *data, int32_t n, array_level level,
                       array_writing writable);

/* Push an array of the script's own, of zeros, and return its n elements, to be filled: they live as long as the array is
 * referred to. Of level items or cells it belongs to the call in progress. */
void *script_array_make(lua_State *L, array_type type, int32_t n, array_level level);

/* Whether the value at `index` is an array, valid or not. Raises nothing. */
int script_array_is(lua_State *L, int index);

/* The data of the array at `index` if it has this type and may be used now, else a Lua error. *n: its length. */
void *script_array_data(lua_State *L, int index, array_type type, int writable, int32_t *n);

/* Write what is at `index` (a number, a boolean, an array) to all of `data`, with broadcasting by the call's segments. Integers
 * are rounded down and saturate, NaN is refused; masks get 0 or 1. */
void script_array_store(lua_State *L, int index, array_type type, void *data, int32_t n, array_level level);

/* Raise if what is at `index` is no mark: in a mask (ARRAY_U8) something but 0 and 1, among widths something below 0; NaN in both.
 * `name` says what was to be assigned to. What is no number or does not fit is left to script_array_store(). */
void script_array_check_marks(lua_State *L, int index, array_type type, int32_t n, array_level level, const char *name);

/* --- watch.c ------------------------------------------------------------------------------------------------------ */

/* Of a script that is watched: the mask on top of the stack was made by the running function of C. May raise an error of memory. */
void script_watch_mask(lua_State *L, rill_script *s);
/* The call in progress ends: its masks have been used by now, or never. One that failed does not count. */
void script_watch_end(rill_script *s, int counts);
void script_watch_free(rill_script *s);

/* --- names.c ------------------------------------------------------------------------------------------------------ */

/* Add a name to the list rill.names[kind]. */
void script_name_add(lua_State *L, const char *kind, const char *name);

/* --- what each file adds to the table `rill`, which is on top of the stack ------------------------------------------- */

void script_open_arrays(lua_State *L);     /* array.c ... : rill.where, rill.max ... */
void script_open_heuristics(lua_State *L); /* heuristic.c: rill.heuristic */
void script_open_scorers(lua_State *L);    /* scorer.c: rill.scorer */
void script_open_policies(lua_State *L);   /* policy.c: rill.policy */
void script_open_domains(lua_State *L);    /* domain.c: rill.domain */
void script_open_config(lua_State *L);     /* config.c: rill.sweep */
void script_open_ffi(lua_State *L);        /* native.c: rill.ffi; without `unsafe` a table that refuses */
void script_open_names(lua_State *L);      /* names.c: rill.names */

#endif
