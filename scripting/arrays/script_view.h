/* Views: the userdata that stand for the engine's structs during one call.
 *
 * A view holds a pointer and the stamp of its call; nothing is read through it once that is over. Fields are numbers found by
 * one lookup in a table, then a switch in the class's read(). */
#ifndef RILL_SCRIPTING_SCRIPT_VIEW_H
#define RILL_SCRIPTING_SCRIPT_VIEW_H

#include "state/state.h"

typedef struct script_view {
    uint64_t stamp;
    void *data; /* what the class reads: the engine's struct, or one that leads there */
} script_view;

typedef struct script_view_class {
    const char *word;          /* "beams" */
    const char *const *fields; /* NULL-ended */
    const luaL_Reg *methods;   /* each gets its view by script_view_self() */
    /* Push the value of field number `field`. */
    void (*read)(lua_State *L, const script_view *view, int field);
    /* Assign the value at index 3 to it; 0: it cannot be assigned. NULL: none can. */
    int (*write)(lua_State *L, const script_view *view, int field);
} script_view_class;

/* Make the class's metatable; once per state. */
void script_view_open(lua_State *L, const script_view_class *kind);

/* Push a view that belongs to the call in progress. */
void script_view_push(lua_State *L, const script_view_class *kind, void *data);

/* In a method: the view at index 1. Raises a Lua error if it is not one of the class, or its call is over. */
const script_view *script_view_self(lua_State *L);

/* Anywhere: the view at `index`. */
const script_view *script_view_check(lua_State *L, int index, const script_view_class *kind);

#endif
