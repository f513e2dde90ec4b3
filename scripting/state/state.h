/* A script and its Lua state, for all modules of scripting/. Not installed.
 *
 * Rules
 *   - No Lua error may cross an engine frame: the engine enters a script only through script_call() or script_protect(). Before that,
 *     use script->L only without allocating: push numbers, light userdata, C functions without upvalues, rawgeti registry values.
 *   - Code inside a protected call may raise with luaL_error(). C memory must belong to a userdata or the script, or an error leaks it.
 *   - script->L is always the running Lua thread: state.c and limited_calls.c update it when coroutines switch.
 *   - A C function whose work grows with its data must call script_charge(), often if the work is long.
 *   - Arrays over engine memory are stamped with the engine's call; using one after the call is an error. */
#pragma once

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "rill/plugin.h"
#include "rill/script.h"

typedef struct script_table script_table;
typedef struct script_native script_native;
typedef struct script_block script_block;
typedef struct script_chunk script_chunk;

/* Functions that open and close one module of scripting/ in a script's state. */
typedef struct script_part {
    /* adds the module's functions to the table `rill` on top of the stack; called in list order; may raise a Lua error */
    void (*open)(lua_State *L);
    /* frees the module's data after the Lua state has been closed; NULL: there is no data to free */
    void (*close)(rill_script *s);
} script_part;
/* All modules, in the order of opening; the last has open == NULL. Defined in script_load.c: state/ depends on no other module. */
extern const script_part script_parts[];

enum { SCRIPT_HEAP_CLASSES = 92, SCRIPT_DEFAULT_MEMORY = 256 << 20 };

/* The state of the allocator in script_memory.c. */
typedef struct script_heap {
    size_t memory;          /* bytes of all blocks that Lua holds */
    size_t context_bytes;   /* bytes allocated from the context, overhead included */
    size_t failed_size;     /* size in bytes of the latest request in this call that was refused; 0: none was */
    size_t used_at_failure; /* value of `memory` when that request was refused */
    /* limit that the refused request exceeded: 0 the context's memory, 1 the script's memory, 2 the length of a text, 3 the size of a
     * stack */
    int failed_limit;
    size_t max_stack_slots; /* number of stack slots of the longest stack so far */
    script_block *free[SCRIPT_HEAP_CLASSES];
    script_chunk *chunks; /* list of chunks, newest first; new blocks are carved from the newest chunk */
    size_t n_chunks;
    char *bump, *bump_end; /* bytes of the newest chunk that were not carved yet: [bump, bump_end) */
} script_heap;

/* One call of a Lua function for the engine. An item is an input; its cells are its candidates or its rows. */
typedef struct script_frame {
    uint64_t stamp; /* serial number of the call; 0: no call is in progress */
    /* [items + 1] item (input) i has cells offset[i] - offset[0] to offset[i + 1] - offset[0]; NULL: no items */
    const int32_t *offset;
    int32_t items;
    int32_t cells; /* number of cells (candidates or rows): offset[items] - offset[0] */
} script_frame;

struct rill_script {
    rill_context *ctx;
    rill_script_options options; /* the script's options, with defaults filled in */
    lua_State *L;                /* the running Lua thread, on which callbacks run */
    lua_State *main;
    char *path;
    size_t path_size;
    char source[LUA_IDSIZE]; /* the path as Lua writes it in messages, shortened if it is long */
    script_heap heap;
    int64_t instructions; /* instructions that the call in progress may still run */
    /* time at which the call's CPU time is checked next, in nanoseconds of a cheap wall clock */
    int64_t next_clock_check;
    /* CPU time of the thread at the call's first check, in nanoseconds; < 0: not checked yet */
    int64_t cpu_start;
    /* number of instructions between two checks of the limits; lower after the script has made a long text */
    int stride;
    int is_exhausted; /* 1: a limit was exceeded, and no script code may run until the outermost call ends */
    /* 1: the latest script_call() failed because it exceeded the limit of instructions or seconds */
    int has_hit_limit;
    int depth;     /* number of nested script_call()s in progress */
    int n_closing; /* number of nested coroutine.close()s in progress */
    /* file of a function call that was noted while a stack was long, for the message of a stack overflow */
    char caller[LUA_IDSIZE];
    int caller_line;     /* line of that call; 0: no call was noted */
    script_frame frame;  /* the engine call in progress */
    uint64_t last_stamp; /* serial number of the latest engine call */
    int result;          /* registry reference of the value that the script returned; LUA_NOREF: none */
    int array_metatable; /* registry reference of the arrays' metatable */
    /* address of the arrays' metatable, by which a value is recognised as an array without a look-up */
    const void *array_mark;
    script_table *tables; /* list of plugins (tables of functions) that this script registered */
    int domains;          /* number of domains registered by rill.domain{} */
    /* the call of a domain's score() in progress (domain_run.c); NULL: none */
    const struct rows_call *score_call;
    script_native *native;      /* data of rill.ffi; NULL in a sandbox */
    rill_status raised_status;  /* status with which script_check() raised last */
    struct script_watch *watch; /* masks created and used so far (arrays/array.c); NULL: masks are not watched */
    /* called at the end of an engine call if masks are watched. `counts` 0: the call failed, so forget its masks */
    void (*watch_end)(struct rill_script *s, int counts);
};

/* --- defined in state.c ------------------------------------------------------------------------------------------- */

/* Create a Lua state with all modules open, without running the script. */
rill_status script_make(rill_script **out, rill_context *ctx, const char *path, const rill_script_options *options);
void script_destroy(rill_script *s);

/* Return the script that owns the Lua state; L may be any of its coroutines. */
rill_script *script_from_lua(lua_State *L);

/* Call the Lua function below the topmost `arguments` values of s->L, protected and with limits. Success leaves `results` values.
 * A failure pops everything and records the error with traceback: RILL_ERR_PLUGIN, RILL_ERR_MEMORY, or the status of a rill function. */
rill_status script_call(rill_script *s, int arguments, int results);

/* Run C code that may raise Lua errors, protected like script_call(): fn(s->L) gets `user` as light userdata. */
rill_status script_protect(rill_script *s, lua_CFunction fn, void *user);

/* Chunk name of the Lua code in scripting/config. Messages and tracebacks leave out positions with this name. */
#define SCRIPT_INTERNAL "=rill"

/* Size in bytes of a copy of the context's message with its traceback, made where later calls may overwrite the original. */
enum { SCRIPT_MESSAGE_MAX = 4000 };

/* A failure in a callback that cannot return a status. A later call that can return a status returns it. */
typedef struct script_late {
    rill_status status; /* status of the failure; RILL_OK: there is no failure */
    char message[SCRIPT_MESSAGE_MAX];
} script_late;
/* If `status` is negative, keep the failure that is recorded in the context, unless an earlier failure is kept. */
void script_late_keep(script_late *late, rill_context *ctx, rill_status status);
/* Record the kept failure in the context, remove it and return its status; RILL_OK if none is kept. */
rill_status script_late_take(script_late *late, rill_context *ctx);

/* Raise a Lua error if a rill function returned a negative status; else return 0. If the script does not catch the error, script_call()
 * returns the status. */
int script_check(lua_State *L, rill_status status);

/* Subtract `work` from the call's instructions; one is a few nanoseconds of C code. Raises when instructions or seconds are exhausted. */
void script_charge(lua_State *L, int64_t work);
/* Give the call in progress all of its instructions and seconds again. */
void script_reset_limits(rill_script *s);
/* instructions to charge for a search of the nearest name among some dozens of names */
enum { SCRIPT_NEAREST_WORK = 1000 };

/* Enclose each call of a Lua function for the engine. Arrays over engine memory are valid until script_end(). Calls may nest.
 * script_begin() returns the outer call's frame, for script_end(). offset, items: the new frame's. */
script_frame script_begin(rill_script *s, const int32_t *offset, int32_t items);
void script_end(rill_script *s, script_frame frame);

/* --- defined in sandbox.c ----------------------------------------------------------------------------------------------- */

/* Add a name to the list rill.names[kind]. */
void script_name_add(lua_State *L, const char *kind, const char *name);

/* Raise if the table at absolute `index` has a key outside n names: a misspelt key must not be ignored. table: noun for the message. */
void script_check_keys(lua_State *L, int index, const char *const *names, size_t n, const char *table);

/* Return the name in rill.names[kind] that is most similar to `word`, or NULL. */
const char *script_name_nearest(lua_State *L, const char *kind, const char *word);
/* If the value at `index` is a number that is whole and in [min, max], store it and return 1; else return 0. */
int script_whole_number(lua_State *L, int index, lua_Integer min, lua_Integer max, lua_Integer *out);
/* Return the Lua string at `index` as a C string. Raises if it contains a NUL; the message begins with `what`. */
const char *script_text(lua_State *L, int index, const char *what);
/* Replace each NUL in the string on top of the stack by "?", so that a message shows the whole string. */
void script_replace_zeros(lua_State *L);
/* Push the field `key` of the table at `index`, without metamethods. Returns its Lua type. */
int script_raw_field(lua_State *L, int index, const char *key);
/* Give the table on top of the stack a metatable with these functions, which scripts cannot access. */
void script_set_metatable(lua_State *L, const luaL_Reg *functions);
/* Append a text to the list on top of the stack. */
void script_append_text(lua_State *L, const char *text);
/* Push a list of integers. */
void script_push_integers(lua_State *L, const int32_t *values, int32_t n);
/* Push a copy of the table on top of the stack. The tables in it are copied too, down to `depth` levels. */
void script_push_copy(lua_State *L, int depth);

/* --- defined in call_costs.c -------------------------------------------------------------------------------------------- */

/* Compile Lua source. Pushes the function or an error message, and returns Lua's status. Raises if a limit was exceeded before. */
int script_compile(lua_State *L, const char *text, size_t length, const char *name);

/* --- libraries for scripts ---------------------------------------------------------------------------------------- */

/* Defined in sandbox.c: open the functions that scripts may use, create the table `rill` and push it. */
void script_open_libraries(lua_State *L);
void script_open_names(lua_State *L);   /* defined in sandbox.c: adds rill.names */
void script_protect_rill(lua_State *L); /* defined in sandbox.c: called last, makes `rill` read-only and pops it */
