/* limits.h: resource limits of a script. Private header of scripting/state. */
#ifndef RILL_SCRIPTING_LIMITS_H
#define RILL_SCRIPTING_LIMITS_H

#include "state.h"

/* --- state.c ------------------------------------------------------------------------------------------------------ */

enum { SCRIPT_STRIDE = 1000 }; /* instructions between two checks of the limits */

/* A text of this many bytes exists, which one instruction may compare with another: check more often, so that about
 * SCRIPT_COMPARED_BYTES are compared between two checks. (A zero byte costs a dozen nanoseconds.) May be called by the
 * allocator. */
enum { SCRIPT_COMPARED_BYTES = 64 << 20 };
void script_note_long_text(lua_State *L, size_t bytes);
/* Give a resumed thread the current check interval. */
void script_apply_stride(lua_State *L);

/* Raise the error of exhausted instructions or seconds, at the script's position when the limit was first met. */
int script_raise_exhausted(lua_State *L);

/* Whether the thread was ended by a limit: its hooks are off for good, so it must not run again. */
int script_died_exhausted(lua_State *thread);

/* Also check the limits at each call in this thread: a chain of __call runs no instruction, and takes quadratic time.
 * May be called by the allocator. */
void script_check_at_calls(lua_State *L);

/* Where raising is not allowed: make the call end at its next instruction if its time is up. */
void script_check_seconds(rill_script *s);

/* --- script_memory.c ----------------------------------------------------------------------------------------------------- */

void *script_allocate(void *user, void *block, size_t old_size, size_t new_size); /* a lua_Alloc; user: the script */
void script_heap_free(rill_script *s);

/* Maximum stack slots of a thread: variables and arguments of the calls in progress. Lua doubles a stack, so calls may
 * fail at half of it. Short enough to walk a chain of __call in half a second. */
enum { SCRIPT_MAX_SLOTS = 41000 };
enum { SCRIPT_SHORT_STACK = 2000 }; /* longer stacks enable checks at calls */

/* Reserve n more stack slots; 0 if that exceeds the limit. Does not raise. */
int script_reserve_stack(lua_State *L, lua_Integer n);

/* --- sandbox.c ---------------------------------------------------------------------------------------------------- */

/* Maximum length of a text: an instruction's time may be proportional to it. */
size_t script_max_text(const rill_script *s);

/* --- limited_calls.c: standard library functions that respect the limits
 * ------------------------------------------------ */

/* Replace them in the global table, on top of the stack. */
void script_open_guards(lua_State *L);

/* --- call_costs.c ------------------------------------------------------------------------------------------------------- */

/* Wrap the library functions in the global table, on top of the stack, to charge for their work. */
void script_open_work(lua_State *L);

/* --- limited_lists.c ------------------------------------------------------------------------------------------------------ */

/* Replace concat, insert, move, remove and unpack in the table on top of the stack. */
void script_open_lists(lua_State *L);
/* Before a call of sort: if it has no comparison function, add one that charges for comparisons. Returns 0. */
int64_t script_sort_order(lua_State *L);

/* --- pattern.c ---------------------------------------------------------------------------------------------------- */

/* Replace find, match, gmatch and gsub in the table on top of the stack. */
void script_open_patterns(lua_State *L);

#endif
