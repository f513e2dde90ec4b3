/* The limits of a call into a script: instructions and CPU seconds.
 *
 * A hook counts instructions. When they are used up, every function that could catch the error raises again, until the outermost
 * script_call() returns. Seconds limit work that the count misses. */
#include <string.h>
#include <time.h>

#include "limits.h"

#ifndef CLOCK_MONOTONIC_COARSE
#define CLOCK_MONOTONIC_COARSE CLOCK_MONOTONIC
#endif

static const char exhausted_key; /* registry key (by address) of the message about the exceeded limit */

/* --- limit on time ------------------------------------------------------------------------------------------------ */

static int64_t nanoseconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Return 1 if the call has used up its CPU seconds. The slow CPU clock is read only when enough wall time has passed. */
static int is_out_of_time(rill_script *s)
{
    if (s->options.seconds <= 0) return 0;
    int64_t today = nanoseconds(CLOCK_MONOTONIC_COARSE);
    if (today < s->next_clock_check) return 0;
    int64_t spent = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    if (s->cpu_start < 0) s->cpu_start = spent;
    double time_left = s->options.seconds * 1e9 - (double)(spent - s->cpu_start);
    if (time_left <= 0) return 1;
    s->next_clock_check = time_left < 1e18 ? today + (int64_t)time_left : INT64_MAX;
    return 0;
}

static void start_clock(rill_script *s)
{
    /* nanoseconds until the clock is first checked; most calls end earlier and never read the CPU clock */
    enum { FIRST_CLOCK_CHECK = 10000000 };
    s->cpu_start = -1;
    if (s->options.seconds > 0) s->next_clock_check = nanoseconds(CLOCK_MONOTONIC_COARSE) + FIRST_CLOCK_CHECK;
}

/* --- limit on instructions ---------------------------------------------------------------------------------------- */

rill_script *script_from_lua(lua_State *L)
{
    void *user;
    lua_getallocf(L, &user);
    return user;
}

int script_frame_is_internal(const lua_Debug *frame)
{
    return *frame->what == 'C' || strcmp(frame->source, SCRIPT_INTERNAL) == 0;
}

/* Store the position of the latest function call, for the message of a stack overflow: a full stack leaves no traceback. */
static void note_caller(rill_script *s, lua_State *L)
{
    enum { CALLER_LEVELS = 3 };
    lua_Debug frame;
    for (int level = 1; level <= CALLER_LEVELS && lua_getstack(L, level, &frame); level++) {
        lua_getinfo(L, "Sl", &frame);
        if (script_frame_is_internal(&frame)) continue;
        memcpy(s->caller, frame.short_src, sizeof s->caller);
        s->caller_line = frame.currentline;
        return;
    }
}

static void count_hook(lua_State *L, lua_Debug *record);

/* Set the number of instructions between two calls of the hook that counts them. A hook at function calls stays on. */
static void set_stride(lua_State *L, int stride)
{
    lua_sethook(L, count_hook, LUA_MASKCOUNT | (lua_gethookmask(L) & LUA_MASKCALL), stride);
}

static void count_hook(lua_State *L, lua_Debug *record)
{
    rill_script *s = script_from_lua(L);
    int stride = lua_gethookcount(L);
    /* An earlier call that a limit stopped has set this coroutine's interval to 1; restore it. */
    if (stride == 1 && !s->is_exhausted) set_stride(L, s->stride);
    s->instructions -= record->event == LUA_HOOKCOUNT ? stride : 1;
    if (record->event != LUA_HOOKCOUNT && s->heap.max_stack_slots > SCRIPT_MAX_SLOTS / 4) note_caller(s, L);
    if (s->instructions <= 0 || s->is_exhausted || is_out_of_time(s)) script_raise_exhausted(L);
}

/* Push the position "FILE:LINE: " in the innermost running function that belongs to the script. */
static void push_place(lua_State *L)
{
    lua_Debug frame;
    for (int level = 0; lua_getstack(L, level, &frame); level++) {
        lua_getinfo(L, "Sl", &frame);
        if (script_frame_is_internal(&frame)) continue;
        lua_pushfstring(L, "%s:%d: ", frame.short_src, frame.currentline);
        return;
    }
    lua_pushliteral(L, "");
}

int script_raise_exhausted(lua_State *L)
{
    rill_script *s = script_from_lua(L);
    set_stride(L, 1);
    if (!s->is_exhausted) {
        s->is_exhausted = 1;
        push_place(L);
        if (s->instructions <= 0)
            lua_pushfstring(
                L, "%sstopped after %I instructions in one call: an endless loop? (--script-steps raises the limit)",
                lua_tostring(L, -1), (LUAI_UACINT)s->options.instructions);
        else
            lua_pushfstring(
                L, "%sstopped after %f seconds in one call: too much work? (--script-seconds raises the limit)",
                lua_tostring(L, -1), s->options.seconds);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &exhausted_key);
    }
    /* Raise the stored message. Its position is where the limit was first reached, even if the script has caught that error since. */
    lua_rawgetp(L, LUA_REGISTRYINDEX, &exhausted_key);
    return lua_error(L);
}

int script_died_exhausted(lua_State *thread)
{
    return lua_gethook(thread) == count_hook && lua_gethookcount(thread) == 1;
}

void script_charge(lua_State *L, int64_t work)
{
    rill_script *s = script_from_lua(L);
    if (work > 0) s->instructions -= work < s->instructions ? work : s->instructions;
    if (s->instructions <= 0 || s->is_exhausted || is_out_of_time(s)) script_raise_exhausted(L);
}

void script_check_seconds(rill_script *s)
{
    if (s->depth > 0 && is_out_of_time(s)) set_stride(s->L, 1);
}

void script_apply_stride(lua_State *L)
{
    if (lua_gethook(L) == count_hook && lua_gethookcount(L) > script_from_lua(L)->stride)
        set_stride(L, script_from_lua(L)->stride);
}

void script_note_long_text(lua_State *L, size_t bytes)
{
    enum { MIN_STRIDE = 4 };
    rill_script *s = script_from_lua(L);
    const int max_stride = bytes < SCRIPT_COMPARED_BYTES / MIN_STRIDE ? (int)(SCRIPT_COMPARED_BYTES / bytes)
                                                                      : MIN_STRIDE;
    if (max_stride < s->stride) s->stride = max_stride;
    script_apply_stride(L);
}

void script_check_at_calls(lua_State *L)
{
    if (lua_gethook(L) == count_hook && (lua_gethookmask(L) & LUA_MASKCALL) == 0)
        lua_sethook(L, count_hook, LUA_MASKCOUNT | LUA_MASKCALL, lua_gethookcount(L));
}

void script_reset_limits(rill_script *s)
{
    s->instructions = s->options.instructions < 0 ? INT64_MAX : s->options.instructions;
    start_clock(s);
}

void script_start_limits(rill_script *s, lua_State *L)
{
    script_reset_limits(s);
    if (s->options.instructions >= 0 || s->options.seconds > 0) set_stride(L, s->is_exhausted ? 1 : s->stride);
}

void script_open_limits(lua_State *L)
{
    lua_pushboolean(L, 0); /* create the registry entry now, so that no memory is needed when it is set */
    lua_rawsetp(L, LUA_REGISTRYINDEX, &exhausted_key);
}
