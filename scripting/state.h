/* What the files that make and guard a script's state share; internal.h has what every file needs. */
#ifndef RILL_SCRIPTING_STATE_H
#define RILL_SCRIPTING_STATE_H

#include "internal.h"

/* --- state.c ------------------------------------------------------------------------------------------------------ */

/* A state with its libraries open and nothing run. */
rill_status script_create(rill_script **out, rill_context *ctx, const char *path, const rill_script_options *options);
void script_destroy(rill_script *s);

enum {
    SCRIPT_DEFAULT_MEMORY = 256 << 20,
    SCRIPT_STRIDE = 1000, /* instructions between two looks at the limit */
};

/* Raise the error of used-up instructions, with the script's place when they were first found to be. */
int script_exhaust(lua_State *L);

/* Whether the thread died of used-up instructions: its hooks are off for good then, so nothing may run in it again. */
int script_died_exhausted(lua_State *thread);

/* --- memory.c ----------------------------------------------------------------------------------------------------- */

void *script_allocate(void *user, void *block, size_t old_size, size_t new_size); /* a lua_Alloc; user: the script */
void script_heap_finish(rill_script *s);

/* --- sandbox.c ---------------------------------------------------------------------------------------------------- */

/* Open what scripts may reach, and the table `rill`. Protected function. */
int script_open_libraries(lua_State *L);

/* --- guard.c: functions of the standard library in a form that keeps the limits ------------------------------------- */

/* Replace them in the global table, which is on top of the stack with its libraries in it. */
void script_open_guards(lua_State *L);

/* --- pattern.c ---------------------------------------------------------------------------------------------------- */

/* Replace find, match, gmatch and gsub in the table on top of the stack. */
void script_open_patterns(lua_State *L);

#endif
