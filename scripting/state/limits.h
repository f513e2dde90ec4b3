/* limits.h: resource limits of a script. Private header of scripting/state. */
#ifndef RILL_SCRIPTING_LIMITS_H
#define RILL_SCRIPTING_LIMITS_H

#include "state.h"

/* --- script_limits.c ------------------------------------------------------------------------------------------------ */

enum { SCRIPT_STRIDE = 1000 }; /* instructions between two checks of the limits */

/* Shorten the check interval because the script now holds a text of `bytes` bytes, which one instruction may compare
 * with another. The new interval limits the bytes compared between two checks to about SCRIPT_COMPARED_BYTES.
 * (Comparing a zero byte costs a dozen nanoseconds.) The allocator may call this. */
enum { SCRIPT_COMPARED_BYTES = 64 << 20 };
void script_note_long_text(lua_State *L, size_t bytes);
/* Set the current check interval on a coroutine that is about to be resumed. */
void script_apply_stride(lua_State *L);

/* Create this file's registry entries. */
void script_open_limits(lua_State *L);
/* Start the limits of a call. Without limits no hook is set, since a hook halves the speed of arithmetic in Lua. */
void script_start_limits(rill_script *s, lua_State *L);

/* Return 1 if the frame is a C function or the Lua code of scripting/config, neither of which users wrote. */
int script_frame_is_internal(const lua_Debug *frame);

/* Raise the error "stopped after N instructions" or seconds, with the script's position at which the limit was first
 * reached. */
int script_raise_exhausted(lua_State *L);

/* Return 1 if a limit ended this coroutine: its hooks stay off, so it must not run again. */
int script_died_exhausted(lua_State *thread);

/* Check the limits at each function call of this thread, too: a chain of __call metamethods runs no instruction, but
 * takes quadratic time. The allocator may call this. */
void script_check_at_calls(lua_State *L);

/* If the call has used up its seconds, make it stop at its next instruction. For code that must not raise a Lua
 * error. */
void script_check_seconds(rill_script *s);

/* --- script_memory.c ----------------------------------------------------------------------------------------------------- */

/* a lua_Alloc; `user` is the script */
void *script_allocate(void *user, void *block, size_t old_size, size_t new_size);
void script_heap_free(rill_script *s);

/* Maximum number of stack slots of a thread: variables and arguments of the calls in progress. Lua doubles a stack
 * when it grows it, so calls may already fail at half this size. Walking a chain of __call metamethods of this
 * length takes half a second. */
enum { SCRIPT_MAX_SLOTS = 41000 };
enum { SCRIPT_SHORT_STACK = 2000 }; /* threads with more stack slots check the limits at each call */

/* Reserve n more stack slots. Return 1, or 0 if that exceeds the limit. Does not raise. */
int script_reserve_stack(lua_State *L, lua_Integer n);

/* Maximum bytes of a text. It is limited because the time of a single instruction may be proportional to it. */
size_t script_max_text(const rill_script *s);

/* --- limited_calls.c ---------------------------------------------------------------------------------------------- */

/* Replace functions in the global table, which is on top of the stack, by those of limited_calls.c, which respect the
 * limits. */
void script_open_guards(lua_State *L);

/* --- call_costs.c ------------------------------------------------------------------------------------------------------- */

/* Wrap the library functions in the global table, which is on top of the stack, so that their work counts in the script's
 * limit of instructions. */
void script_open_work(lua_State *L);

/* --- pattern.c ---------------------------------------------------------------------------------------------------- */

/* Replace find, match, gmatch and gsub in the table on top of the stack. */
void script_open_patterns(lua_State *L);

#endif
