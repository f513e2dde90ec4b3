/* state.h: a script and its Lua state, as used by all modules of scripting/. Not installed.
 *
 * Rules
 *   - The engine calls scripts through C function pointers. No Lua error may cross an engine frame: every entry is
 *   script_call() or script_protect(). Before it, only operations without allocation are allowed on script->L: pushing
 *   numbers, light userdata, C functions without upvalues, registry values by lua_rawgeti(). Strings, tables and
 *   userdata are made inside.
 *   - Code inside a protected call may raise with luaL_error(); it must not leak C memory then (userdata or the script
 *   own it).
 *   - script->L is always the running thread: state.c and limited_calls.c update it when coroutines switch. A C
 *   function called by a script finds its own state there.
 *   - A C function whose work grows with its data, without allocating that much, must call script_charge(): in small
 *   steps if the work is long, since a call that exceeds its time ends there.
 *   - Arrays over engine memory carry the stamp of their call and are refused afterwards. */
#ifndef RILL_SCRIPTING_STATE_H
#define RILL_SCRIPTING_STATE_H

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "rill/plugin.h"
#include "rill/script.h"

typedef struct script_table script_table;
typedef struct script_native script_native;
typedef struct script_block script_block;
typedef struct script_chunk script_chunk;

/* A module of a script's state. state/ depends on no other module: whoever makes a state passes the list. */
typedef struct script_part {
    void (*open)(lua_State *L);    /* called in list order; adds its functions to `rill`, on top of the stack. Raises */
    void (*close)(rill_script *s); /* frees its remaining data after the Lua state is closed; NULL: nothing */
} script_part;

enum { SCRIPT_HEAP_CLASSES = 92, SCRIPT_DEFAULT_MEMORY = 256 << 20 };

/* script_memory.c */
typedef struct script_heap {
    size_t memory;          /* held by Lua */
    size_t context_bytes;   /* allocated from the context */
    size_t failed_size;     /* bytes of the latest failed request of this call, else 0, */
    size_t used_at_failure; /* `memory` at that time, */
    int failed_limit;       /* and the limit: 0 the context's memory, 1 the script's limit, 2 a text's, 3 a stack's */
    size_t max_stack_slots; /* longest stack seen so far */
    script_block *free[SCRIPT_HEAP_CLASSES];
    script_chunk *chunks; /* newest first; blocks are carved from it */
    size_t n_chunks;
    char *bump, *bump_end; /* the rest of the newest chunk */
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
    int64_t instructions;     /* remaining in the call in progress */
    int64_t next_clock_check; /* next check of the call's seconds, on a cheap clock */
    int64_t cpu_start;        /* processor time at the first check; < 0: none yet */
    int stride;               /* instructions between two checks of the limits: fewer after a long text */
    int is_exhausted;         /* a limit was met: only unwinding is allowed until the outermost call ends */
    int has_hit_limit;        /* the latest script_call() failed for lack of instructions or seconds */
    int depth;                /* script_call()s in progress */
    int n_closing;            /* coroutine.close()s in progress */
    char caller[LUA_IDSIZE];  /* last caller seen while a stack was long, */
    int caller_line;          /* and its line; 0: none */
    uint64_t stamp;           /* of the engine's call in progress; 0 between calls */
    uint64_t last_stamp;      /* of the latest call */
    const int32_t *offset;    /* [items + 1] segments of the call in progress; NULL: none */
    int32_t items;
    int32_t cells;             /* candidates or rows: offset[items] */
    int result;                /* registry reference of the chunk's return value; LUA_NOREF: none */
    int array_metatable;       /* registry reference of the arrays' metatable */
    const void *array_mark;    /* its address, for a type test without lookups */
    script_table *tables;      /* vtables registered from this script */
    int domains;               /* domains registered by rill.domain{} */
    script_native *native;     /* rill.ffi; NULL in a sandbox */
    rill_status raised_status; /* of the latest script_raise() */
    const script_part *parts;
    struct script_watch *watch; /* watched masks (arrays/mask_watch.c); NULL: watching is off */
    void (*watch_end)(struct rill_script *s,
                      int counts); /* called at the end of a call with watching on; counts 0: the call failed */
};

/* --- state.c ------------------------------------------------------------------------------------------------------ */

/* Make a state with its modules open, without running the script. `parts` ends with open == NULL and outlives the
 * state. */
rill_status script_make(rill_script **out, rill_context *ctx, const char *path, const rill_script_options *options,
                        const script_part *parts);
void script_destroy(rill_script *s);

/* The script that a state belongs to. Any thread of it. */
rill_script *script_from_lua(lua_State *L);

/* Call the function below `arguments` values on top of s->L, protected, with the limits of the script. On success leaves
 * `results` values. On failure pops everything, records the error with the traceback and returns it:
 *   RILL_ERR_PLUGIN, RILL_ERR_MEMORY, or the status of a rill function that failed inside. */
rill_status script_call(rill_script *s, int arguments, int results);

/* Run C code that may raise Lua errors, protected in the same way: fn(s->L) gets `user` as light userdata. */
rill_status script_protect(rill_script *s, lua_CFunction fn, void *user);

/* Chunk name of the library's Lua code, which positions and tracebacks omit. */
#define SCRIPT_INTERNAL "=rill"

/* Buffer for a message of the context, traceback included, while later calls may record another. */
enum { SCRIPT_MESSAGE_MAX = 4000 };

/* Raise the failure recorded in the context (by a rill function that returned `status`) as a Lua error. The script_call()
 * that it ends returns this status, unless the script catches the error. */
int script_raise(lua_State *L, rill_status status);

/* Charge `work` to the instructions of the call in progress: one per few nanoseconds of C. Raises when its instructions
 * or seconds are exhausted. */
void script_charge(lua_State *L, int64_t work);
/* Reset the instructions and seconds of the call in progress. */
void script_reset_limits(rill_script *s);
enum { SCRIPT_NEAREST_WORK = 1000 }; /* cost of a nearest-name search among some dozens */

/* Begin and end an engine call: arrays made in between belong to it. Nests: begin returns the frame for end. */
typedef struct script_frame {
    uint64_t stamp;
    const int32_t *offset;
    int32_t items, cells;
} script_frame;
script_frame script_begin(rill_script *s, const int32_t *offset, int32_t items);
void script_end(rill_script *s, script_frame frame);

/* --- script_names.c ------------------------------------------------------------------------------------------------------ */

/* Add a name to the list rill.names[kind]. */
void script_name_add(lua_State *L, const char *kind, const char *name);
/* The most similar of n names, or the present one of a name that was renamed; NULL if none is similar. */
const char *script_nearest(const char *word, const char *const *names, size_t n);

/* The name of that kind nearest to `word`, or NULL. */
const char *script_name_nearest(lua_State *L, const char *kind, const char *word);
/* The string at `index` for C: raises, with a message that begins with `what`, if it contains a NUL. */
const char *script_text(lua_State *L, int index, const char *what);
/* Replace NULs in the string on top of the stack by "?", for messages. */
void script_replace_zeros(lua_State *L);
/* Push a copy of the table on top of the stack, and of the tables in it to this depth. */
void script_push_copy(lua_State *L, int depth);

/* --- call_costs.c ------------------------------------------------------------------------------------------------------- */

/* Push the compiled function, or a message, and return Lua's status. A limit met during compilation makes the script
 * exhausted; one met before raises. */
int script_compile(lua_State *L, const char *text, size_t length, const char *name);

/* Push the list of the settings' names. In sandbox.c. */
void script_push_settings(lua_State *L);

/* --- modules ------------------------------------------------------------------------------------------------------ */

void script_open_libraries(
    lua_State *L); /* sandbox.c: the functions scripts may use, and the table `rill`, which it pushes */
void script_open_names(lua_State *L);   /* script_names.c: rill.names */
void script_protect_rill(lua_State *L); /* sandbox.c: last; makes `rill` read-only and pops it */

#endif
