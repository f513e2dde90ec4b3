/* script_view.h: userdata that give scripts access to engine structs during one call.
 *
 * A view holds a pointer and the stamp of its call; it is invalid once the call has returned. A table maps field names
 * to numbers, which the class's read() switches on. */
#ifndef RILL_SCRIPTING_SCRIPT_VIEW_H
#define RILL_SCRIPTING_SCRIPT_VIEW_H

#include "state/state.h"

typedef struct script_view {
    uint64_t stamp;
    void *data; /* the engine's struct, or a struct that refers to it */
} script_view;

typedef struct script_view_class {
    const char *word;          /* "candidates" */
    const char *const *fields; /* NULL-terminated */
    const luaL_Reg *methods;   /* each gets its view by script_view_self() */
    /* Push the value of field number `field`. */
    void (*read)(lua_State *L, const script_view *view, int field);
    /* Assign the value at index 3 to the field; 0: read-only. NULL: all fields are read-only. */
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
