/* Masks that are made and never used, for `rill check`: `a and b` of two masks is b, and nobody tells.
 *
 * While a script is watched, the masks that it makes in a call are kept until the call ends, with the place where each was made. An
 * operation, a method or an assignment that takes an array notes so in the array (array_check()). Place by place, a call in which all
 * masks were used speaks for it: one that is made in vain only now and then is no mistake.
 *
 * Masks of items and cells are watched, which nothing can use behind the end of their call. Watching is all that costs. */
#include <stdio.h>
#include <string.h>

#include "array.h"

enum { MOST_PLACES = 64, MOST_KEPT = 4096, PLACE_TEXT = LUA_IDSIZE + 16 };

typedef struct script_watch script_watch;

typedef struct place {
    char text[PLACE_TEXT]; /* FILE:LINE */
    int used, unused;      /* calls in which all masks were used; in which some were not */
    int made, lost;        /* in the call in progress: masks, and those of them that nothing used */
} place;

struct script_watch {
    int kept_table;          /* registry reference: the masks, in the order in which they were made */
    uint8_t kept[MOST_KEPT]; /* [n_kept] the place of each */
    int n_kept;
    place place[MOST_PLACES];
    int n;
};

/* --- places ------------------------------------------------------------------------------------------------------- */

/* The place that the running function of C was called from; -1 if that is no line of a script, or one too many. */
static int find_place(lua_State *L, script_watch *w)
{
    char text[PLACE_TEXT];
    lua_Debug frame;
    if (!lua_getstack(L, 1, &frame) || !lua_getinfo(L, "Sl", &frame) || frame.currentline <= 0) return -1;
    snprintf(text, sizeof text, "%s:%d", frame.short_src, frame.currentline);
    for (int i = 0; i < w->n; i++)
        if (strcmp(w->place[i].text, text) == 0) return i;
    if (w->n == MOST_PLACES) return -1;
    w->place[w->n] = (place){0};
    memcpy(w->place[w->n].text, text, sizeof text);
    return w->n++;
}

/* --- masks -------------------------------------------------------------------------------------------------------- */

void script_watch_mask(lua_State *L, rill_script *s)
{
    script_watch *w = s->watch;
    const int at = w->n_kept < MOST_KEPT ? find_place(L, w) : -1;
    if (at < 0) return;
    lua_rawgeti(L, LUA_REGISTRYINDEX, w->kept_table);
    lua_pushvalue(L, -2);
    lua_rawseti(L, -2, w->n_kept + 1);
    lua_pop(L, 1);
    w->kept[w->n_kept++] = (uint8_t)at;
}

/* A call within a call has ended before, so its masks are gone and those of this one are the last. */
static void end_call(rill_script *s, int counts)
{
    script_watch *w = s->watch;
    lua_State *L = s->L;
    lua_rawgeti(L, LUA_REGISTRYINDEX, w->kept_table);
    for (; w->n_kept > 0; w->n_kept--) {
        place *p = &w->place[w->kept[w->n_kept - 1]];
        lua_rawgeti(L, -1, w->n_kept);
        const array *mask = lua_touserdata(L, -1);
        const int ours = mask->stamp == s->stamp, lost = !mask->used;
        lua_pop(L, 1);
        if (!ours) break;
        p->made += counts;
        p->lost += counts && lost;
        lua_pushnil(L);
        lua_rawseti(L, -2, w->n_kept);
    }
    lua_pop(L, 1);
    for (place *p = w->place; p < w->place + w->n; p++) {
        p->unused += p->lost > 0;
        p->used += p->made > 0 && p->lost == 0;
        p->made = p->lost = 0;
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
        script->watch = w, script->watch_end = end_call;
    return status;
}

const char *rill_script_unused_mask(const rill_script *script, size_t i)
{
    const script_watch *w = script->watch;
    for (int at = 0; w != NULL && at < w->n; at++)
        if (w->place[at].unused > 0 && w->place[at].used == 0 && i-- == 0) return w->place[at].text;
    return NULL;
}
