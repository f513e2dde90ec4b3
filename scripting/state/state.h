/* A script and its Lua state, as every room of scripting/ sees them. Not installed.
 *
 * Rules of the room
 *   - The engine calls scripts through C function pointers. No Lua error may cross a frame of the engine: every entry is
 *     script_call() or script_protect(). Before it, on script->L, only what allocates nothing may be done: pushing numbers,
 *     light userdata, C functions without upvalues, values of the registry by lua_rawgeti(). Strings, tables and userdata
 *     are made inside.
 *   - Code that runs inside a protected call may raise with luaL_error(); it must then own no C memory that is lost by it
 *     (userdata own theirs, or the script does).
 *   - script->L is always the running thread: state.c and limited_calls.c see to it, whichever coroutine runs. A C function that a
 *     script calls finds its own state there.
 *   - A C function whose work goes with the size of its data, and that makes nothing of that size, tells script_charge(): bit by
 *     bit where a bit may take long, for that is where a call whose time is over ends.
 *   - Arrays over engine memory carry the stamp of the call they belong to and are refused afterwards. */
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

/* What a room adds to a state. This room knows no other: whoever makes a state hands in the list. */
typedef struct script_part {
    void (*open)(
        lua_State *L); /* in the order of the list; what is for scripts goes into `rill`, on top of the stack. Raises */
    void (*close)(rill_script *s); /* frees what is left of it when the Lua state is closed already; NULL: nothing */
} script_part;

enum { SCRIPT_HEAP_CLASSES = 92, SCRIPT_DEFAULT_MEMORY = 256 << 20 };

/* script_memory.c */
typedef struct script_heap {
    size_t memory;          /* held by Lua */
    size_t context_bytes;   /* given by the context for it */
    size_t failed_size;     /* bytes of the latest request that failed in this call, else 0, */
    size_t used_at_failure; /* what `memory` was then, */
    int failed_limit; /* and why: 0 the context's memory, 1 the script's limit, 2 that of a text, 3 that of a stack */
    size_t max_stack_slots; /* of the longest stack that was seen to grow */
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
    int64_t instructions;     /* left for the call in progress */
    int64_t next_clock_check; /* when to look next whether its seconds are over, by a clock that is quick to read */
    int64_t cpu_start;        /* the processor's time at the first look; below 0: there was none yet */
    int stride;               /* instructions between two looks at the limits: fewer once there was a long text */
    int is_exhausted;         /* a limit was met: nothing but unwinding is allowed until the outermost call ends */
    int has_hit_limit;        /* the latest script_call() failed for want of instructions or of seconds */
    int depth;                /* script_call()s in progress */
    int n_closing;            /* coroutine.close()s in progress */
    char caller[LUA_IDSIZE];  /* what was last seen to call a function while a stack was long, */
    int caller_line;          /* and where; 0: nothing */
    uint64_t stamp;           /* of the engine's call in progress; 0 between calls */
    uint64_t last_stamp;      /* of the latest call */
    const int32_t *offset;    /* [items + 1] segments of the call in progress; NULL when it has none */
    int32_t items;
    int32_t cells;             /* candidates or rows: offset[items] */
    int result;                /* registry reference of what the chunk returned; LUA_NOREF if nothing */
    int array_metatable;       /* registry reference; what makes a userdata an array */
    const void *array_mark;    /* its address: a type test without look-ups */
    script_table *tables;      /* vtables registered from this script */
    int domains;               /* rill.domain{}s that came to be registered */
    script_native *native;     /* rill.ffi; NULL in a sandbox */
    rill_status raised_status; /* the latest that script_raise() was given */
    const script_part *parts;
    struct script_watch *watch;                           /* of its masks (arrays/mask_watch.c); NULL: nobody asked */
    void (*watch_end)(struct rill_script *s, int counts); /* called when a call ends where somebody did; 0: it failed */
};

/* --- state.c ------------------------------------------------------------------------------------------------------ */

/* A state with its parts open and nothing run. `parts` ends with open == NULL and outlives the state. */
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

/* How code of the library that is Lua is named. It is not the script's: places and tracebacks leave it out. */
#define SCRIPT_INTERNAL "=rill"

/* Room for a message of the context, traceback included, while calls go on that may record another. */
enum { SCRIPT_MESSAGE_MAX = 4000 };

/* Raise the failure recorded in the context (by a rill function that returned `status`) as a Lua error. The script_call()
 * that it ends returns this status, unless the script catches the error. */
int script_raise(lua_State *L, rill_status status);

/* Count `work` against the instructions of the call in progress: one for each few nanoseconds of C. Raises when they are used
 * up, or its seconds are. */
void script_charge(lua_State *L, int64_t work);
/* Give the call in progress all of its instructions and seconds again. */
void script_reset_limits(rill_script *s);
enum { SCRIPT_NEAREST_WORK = 1000 }; /* a look for the nearest of some dozens of names */

/* Begin and end a call of the engine: arrays made between belong to it. Nests: begin returns the frame to give back. */
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
/* The one of them that was meant by `word`, or NULL. */
const char *script_name_nearest(lua_State *L, const char *kind, const char *word);
/* The string at `index` as C has it, which ends at a byte of value 0: a string with one inside raises, in a sentence that begins with
 * `what`. */
const char *script_text(lua_State *L, int index, const char *what);
/* In messages such a byte is shown: the string on top of the stack with "?" for each. */
void script_replace_zeros(lua_State *L);
/* Push a copy of the table on top of the stack, and of the tables in it to this depth. */
void script_push_copy(lua_State *L, int depth);

/* --- call_costs.c ------------------------------------------------------------------------------------------------------- */

/* Push the function that the text is compiled to, or a message, and return Lua's status. A limit that is met while it is compiled makes
 * the script exhausted; one that is met before raises. */
int script_compile(lua_State *L, const char *text, size_t length, const char *name);

/* Push the list of the settings' names. In sandbox.c. */
void script_push_settings(lua_State *L);

/* --- parts -------------------------------------------------------------------------------------------------------- */

void script_open_libraries(lua_State *L); /* sandbox.c: what scripts may reach, and the table `rill`, which it pushes */
void script_open_names(lua_State *L);     /* script_names.c: rill.names */
void script_protect_rill(lua_State *L);   /* sandbox.c: the last; nothing is added to `rill` afterwards. Pops it */

#endif
