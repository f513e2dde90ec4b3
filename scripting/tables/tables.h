/* tables.h: Lua functions as engine callbacks, as used by the other modules of scripting/. */
#ifndef RILL_SCRIPTING_TABLES_H
#define RILL_SCRIPTING_TABLES_H

#include "state/state.h"

typedef enum script_kind { SCRIPT_HEURISTIC, SCRIPT_SCORER, SCRIPT_SCHEDULER, SCRIPT_DOMAIN } script_kind;

enum { SCRIPT_NAME_MAX = 48 }; /* of a heuristic, a scorer, a scheduler or a domain, with its NUL */

/* The engine's table of that kind and name, or NULL. */
const void *script_find(const rill_context *ctx, script_kind kind, const char *name);

/* The engine's struct of the view at `index`; a Lua error if it is something else or its call is over. */
rill_candidates *script_candidates_check(lua_State *L, int index);
const rill_scorer_rows *script_rows_check(lua_State *L, int index, rill_modifiers **modifiers);
const rill_sched_view *script_sched_view_check(lua_State *L, int index);

/* A budget callback from the Lua function at `index`, which gets a scheduler view and returns a number (0: none) or nil
 * (as configured). `user` belongs to the script. Raises nothing. */
rill_status script_budget_create(lua_State *L, int index, rill_budget_fn *fn, void **user);

/* Equivalence keys for cube pruning, from the Lua function at `index`, which gets the hypotheses and returns an array
 * of numbers. */
rill_status script_cube_key_create(lua_State *L, int index, rill_key_fn *fn, void **user);

/* Name of the domain of the object at `index`, or NULL if it is no rill.domain{}. */
const char *script_domain_name(lua_State *L, int index);

/* The room's parts, and what frees all of them. */
void script_open_heuristics(lua_State *L); /* rill.heuristic */
void script_open_scorers(lua_State *L);    /* rill.scorer */
void script_open_schedulers(lua_State *L); /* rill.scheduler */
void script_open_cube(lua_State *L);       /* what cube_key functions get */
void script_open_domains(lua_State *L);    /* rill.domain */
void script_tables_free(rill_script *s);

/* The Lua spelling of an option such as "max-items". Returns `out`. */
const char *script_lua_name(const char *name, char out[SCRIPT_NAME_MAX]);

#endif
