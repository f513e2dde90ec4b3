/* limits.h: resource limits of a script. Private header of scripting/state. */
#pragma once

#include "state.h"

/* --- defined in script_limits.c ------------------------------------------------------------------------------------- */

enum { SCRIPT_STRIDE = 1000 }; /* number of instructions between two checks of a call's limits */

/* From now on check the limits more often, since one instruction may compare a text of `bytes` bytes. At most about SCRIPT_COMPARED_BYTES
 * may pass between two checks. */
enum { SCRIPT_COMPARED_BYTES = 64 << 20 };
void script_note_long_text(lua_State *L, size_t bytes);
/* Set the current interval between checks of the limits on a coroutine that is about to be resumed. */
void script_apply_stride(lua_State *L);

/* Create the entries of script_limits.c in the Lua registry. */
void script_open_limits(lua_State *L);
/* Start the limits of a call into the script. Without limits no hook is set: hooks halve Lua's speed. */
void script_start_limits(rill_script *s, lua_State *L);

/* Return 1 if the frame is a C function or the Lua code of scripting/config, neither of which users wrote. */
int script_frame_is_internal(const lua_Debug *frame);

/* Raise the error "stopped after N instructions", or N seconds. It has the script's position at which the limit was first reached. */
int script_raise_exhausted(lua_State *L);

/* Return 1 if a limit ended this coroutine: its hooks stay off, so it must not run again. */
int script_died_exhausted(lua_State *thread);

/* Check the limits also at each function call of this thread: a chain of __call metamethods runs no instruction. */
void script_check_at_calls(lua_State *L);

/* If the call has used up its seconds, stop it at its next instruction. For code that must not raise. */
void script_check_seconds(rill_script *s);

/* --- defined in script_memory.c ------------------------------------------------------------------------------------------ */

/* The memory allocator of the Lua state (a lua_Alloc); `user` is the script. */
void *script_allocate(void *user, void *block, size_t old_size, size_t new_size);
void script_heap_free(rill_script *s);

/* Maximum number of stack slots of a Lua thread. Calls may fail at half this size: Lua doubles a growing stack. */
enum { SCRIPT_MAX_SLOTS = 41000 };
/* threads with more stack slots than this check the limits at each function call */
enum { SCRIPT_SHORT_STACK = 2000 };

/* Reserve n more stack slots. Returns 1, or 0 if the stack would exceed its limit. Does not raise. */
int script_reserve_stack(lua_State *L, lua_Integer n);

/* Return the maximum length of a text in bytes. It is limited because a single instruction may take time proportional to it. */
size_t script_max_text(const rill_script *s);

/* --- defined in sandbox.c --------------------------------------------------------------------------------------------- */

/* Return 1 if the name is one of `names`, which are separated by spaces. */
int script_is_listed(const char *names, const char *name);

/* --- defined in limited_calls.c ----------------------------------------------------------------------------------- */

/* Replace functions in the global table by those of limited_calls.c, which respect the limits. The global table is on top of the stack. */
void script_open_guards(lua_State *L);

/* --- defined in call_costs.c -------------------------------------------------------------------------------------------- */

/* Wrap the library functions in the global table on top of the stack, so that their work is charged to the script. */
void script_open_work(lua_State *L);

/* --- defined in pattern.c ----------------------------------------------------------------------------------------- */

/* Replace find, match, gmatch and gsub in the table on top of the stack by those of pattern.c. */
void script_open_patterns(lua_State *L);
