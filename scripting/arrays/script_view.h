/* script_view.h: userdata that give scripts access to engine structs during one call.
 *
 * A view holds a pointer and the stamp (serial number) of its engine call; using it after the call has returned is an
 * error. A table maps field names to numbers, which the class's read() switches on. */
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
    const luaL_Reg *methods;   /* each method gets its view by script_view_self() */
    /* Push the value of field number `field`. */
    void (*read)(lua_State *L, const script_view *view, int field);
    /* Assign the value at stack index 3 to the field and return 1, or return 0 if the field is read-only. NULL: all
     * fields are read-only. */
    int (*write)(lua_State *L, const script_view *view, int field);
} script_view_class;

/* Create the metatable of the class; called once per Lua state. */
void script_view_open(lua_State *L, const script_view_class *kind);

/* Push a view that belongs to the call in progress. */
void script_view_push(lua_State *L, const script_view_class *kind, void *data);

/* For methods: return the view at stack index 1. Raises if it is not a view of this class, or if its call has
 * returned. */
const script_view *script_view_self(lua_State *L);

/* For other functions: return the view of class `kind` at `index`. Raises in the same cases. */
const script_view *script_view_check(lua_State *L, int index, const script_view_class *kind);

#endif
