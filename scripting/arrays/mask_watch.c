/* Finds masks that a script makes and never uses; `rill check` reports them. An example: `a and b` of two masks is b in
 * Lua, without an error.
 *
 * While a script is watched, the masks that it makes are stored until the engine call ends, together with the source
 * line that made them. Every operation, method or assignment that takes an array marks it as used (array_check()). A
 * line is reported only if in every call some of its masks stayed unused.
 *
 * Only masks of items and cells are watched, since they cannot be used after their call. Watching costs nothing for
 * other scripts. */
#include <stdio.h>
#include <string.h>

#include "array.h"

enum { MAX_MASK_PLACES = 64, MAX_KEPT_MASKS = 4096, PLACE_TEXT = LUA_IDSIZE + 16 };

typedef struct script_watch script_watch;

typedef struct place {
    char text[PLACE_TEXT];       /* FILE:LINE */
    int used, unused;            /* number of calls in which all masks of this line were used; in which some were not */
    int call_masks, call_unused; /* masks that this line made in the call in progress; how many of them are unused */
} place;

struct script_watch {
    int kept_table;               /* registry reference of the list of masks, in order of creation */
    uint8_t kept[MAX_KEPT_MASKS]; /* [n_kept] index into `place` of the line that made each mask */
    int n_kept;
    place place[MAX_MASK_PLACES];
    int n;
};

/* --- source lines ------------------------------------------------------------------------------------------------- */

/* Return the index in w->place of the script line that called the running C function. Adds the line if it is new.
 * Returns -1 if no script line called it, or if the list is full. */
static int find_place(lua_State *L, script_watch *w)
{
    char text[PLACE_TEXT];
    lua_Debug frame;
    if (!lua_getstack(L, 1, &frame) || !lua_getinfo(L, "Sl", &frame) || frame.currentline <= 0) return -1;
    snprintf(text, sizeof text, "%s:%d", frame.short_src, frame.currentline);
    for (int i = 0; i < w->n; i++)
        if (strcmp(w->place[i].text, text) == 0) return i;
    if (w->n == MAX_MASK_PLACES) return -1;
    w->place[w->n] = (place){0};
    memcpy(w->place[w->n].text, text, sizeof text);
    return w->n++;
}

/* --- masks -------------------------------------------------------------------------------------------------------- */

void script_watch_mask(lua_State *L, rill_script *s)
{
    script_watch *w = s->watch;
    const int place_index = w->n_kept < MAX_KEPT_MASKS ? find_place(L, w) : -1;
    if (place_index < 0) return;
    lua_rawgeti(L, LUA_REGISTRYINDEX, w->kept_table);
    lua_pushvalue(L, -2);
    lua_rawseti(L, -2, w->n_kept + 1);
    lua_pop(L, 1);
    w->kept[w->n_kept++] = (uint8_t)place_index;
}

/* At the end of an engine call, count the used and unused masks of each line. Nested calls have ended before, so the
 * masks of this call are the last in the list. */
static void count_unused_masks(rill_script *s, int counts)
{
    script_watch *w = s->watch;
    lua_State *L = s->L;
    lua_rawgeti(L, LUA_REGISTRYINDEX, w->kept_table);
    for (; w->n_kept > 0; w->n_kept--) {
        place *p = &w->place[w->kept[w->n_kept - 1]];
        lua_rawgeti(L, -1, w->n_kept);
        const array *mask = lua_touserdata(L, -1);
        const int ours = mask->stamp == s->stamp, is_unused = !mask->used;
        lua_pop(L, 1);
        if (!ours) break;
        p->call_masks += counts;
        p->call_unused += counts && is_unused;
        lua_pushnil(L);
        lua_rawseti(L, -2, w->n_kept);
    }
    lua_pop(L, 1);
    for (place *p = w->place; p < w->place + w->n; p++) {
        p->unused += p->call_unused > 0;
        p->used += p->call_masks > 0 && p->call_unused == 0;
        p->call_masks = p->call_unused = 0;
    }
}

/* --- the public functions ----------------------------------------------------------------------------------------- */

static int make_table(lua_State *L)
{
    script_watch *w = lua_touserdata(L, 1);
    lua_newtable(L);
    w->kept_table = luaL_ref(L, LUA_REGISTRYINDEX);
    return 0;
}

void script_watch_free(rill_script *s)
{
    rill_free(s->ctx, s->watch, sizeof *s->watch);
    s->watch = NULL;
}

rill_status rill_script_watch(rill_script *script)
{
    if (script->watch != NULL) return RILL_OK;
    script_watch *w = rill_calloc(script->ctx, 1, sizeof *w);
    if (w == NULL) return rill_fail_memory(script->ctx, sizeof *w, "watching a script");
    rill_status status = script_protect(script, make_table, w);
    if (status < 0)
        rill_free(script->ctx, w, sizeof *w);
    else
        script->watch = w, script->watch_end = count_unused_masks;
    return status;
}

const char *rill_script_unused_mask(const rill_script *script, size_t i)
{
    const script_watch *w = script->watch;
    for (int place_index = 0; w != NULL && place_index < w->n; place_index++)
        if (w->place[place_index].unused > 0 && w->place[place_index].used == 0 && i-- == 0)
            return w->place[place_index].text;
    return NULL;
}
