/* What the files that guard a script's state share; state.h has what every room needs. */
#ifndef RILL_SCRIPTING_LIMITS_H
#define RILL_SCRIPTING_LIMITS_H

#include "state.h"

/* --- state.c ------------------------------------------------------------------------------------------------------ */

enum { SCRIPT_STRIDE = 1000 }; /* instructions between two looks at the limits */

/* A text of so many bytes has come to be, which one instruction may compare with another: look more often, so that about this many bytes
 * are compared between two looks. Where each is a zero byte, each takes a dozen nanoseconds. May be called by the allocator. */
enum { SCRIPT_COMPARED_BYTES = 64 << 20 };
void script_note_long_text(lua_State *L, size_t bytes);
/* Have a thread that goes on look as often as others do by now. */
void script_apply_stride(lua_State *L);

/* Raise the error of used-up instructions or seconds, with the script's place when they were first found to be. */
int script_raise_exhausted(lua_State *L);

/* Whether the thread died of a limit: its hooks are off for good then, so nothing may run in it again. */
int script_died_exhausted(lua_State *thread);

/* Have each call of a function in this thread look at the limits too: a chain of __call before it runs no instruction, and takes the
 * square of its length. May be called by the allocator. */
void script_check_at_calls(lua_State *L);

/* From where nothing may be raised: have the call end at its next instruction if its seconds are over. */
void script_check_seconds(rill_script *s);

/* --- script_memory.c ----------------------------------------------------------------------------------------------------- */

void *script_allocate(void *user, void *block, size_t old_size, size_t new_size); /* a lua_Alloc; user: the script */
void script_heap_free(rill_script *s);

/* Values on the stack of a thread: variables and arguments of the calls in progress. Lua doubles a stack, so that calls may find their
 * end at half of it. Short enough for a chain of __call to be walked in half a second. */
enum { SCRIPT_MAX_SLOTS = 41000 };
enum { SCRIPT_SHORT_STACK = 2000 }; /* beyond it calls are watched */

/* Make room for n values more on the stack; 0 where there may not be so many. Does not raise. */
int script_reserve_stack(lua_State *L, lua_Integer n);

/* --- sandbox.c ---------------------------------------------------------------------------------------------------- */

/* The longest text that a script may have: what one instruction does with a text goes with its length. */
size_t script_max_text(const rill_script *s);

/* --- limited_calls.c: functions of the standard library in a form that keeps the limits ------------------------------------- */

/* Replace them in the global table, which is on top of the stack with its libraries in it. */
void script_open_guards(lua_State *L);

/* --- call_costs.c ------------------------------------------------------------------------------------------------------- */

/* Put the functions of the libraries in the global table, which is on top of the stack, into wrappers that charge for them. */
void script_open_work(lua_State *L);

/* --- limited_lists.c ------------------------------------------------------------------------------------------------------ */

/* Replace concat, insert, move, remove and unpack in the table on top of the stack. */
void script_open_lists(lua_State *L);
/* Before a call of sort: where it is given no order it gets one that counts what comparing costs. Returns 0. */
int64_t script_sort_order(lua_State *L);

/* --- pattern.c ---------------------------------------------------------------------------------------------------- */

/* Replace find, match, gmatch and gsub in the table on top of the stack. */
void script_open_patterns(lua_State *L);

#endif
