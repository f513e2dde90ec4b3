/* Lua functions in the engine's tables, as the rooms above see them. */
#ifndef RILL_SCRIPTING_TABLES_H
#define RILL_SCRIPTING_TABLES_H

#include "state/state.h"

typedef enum script_kind { SCRIPT_HEURISTIC, SCRIPT_SCORER, SCRIPT_SCHEDULER, SCRIPT_DOMAIN } script_kind;

enum { SCRIPT_NAME_MAX = 48 }; /* of a heuristic, a scorer, a policy or a domain, with its last byte */

/* The engine's table of that kind and name, or NULL. */
const void *script_find(const rill_context *ctx, script_kind kind, const char *name);

/* The engine's struct behind the `b`, `rows` or `flight` at `index`; a Lua error if it is something else or its call is over. */
rill_candidates *script_candidates_check(lua_State *L, int index);
const rill_scorer_rows *script_rows_check(lua_State *L, int index, rill_modifiers **modifiers);
const rill_sched_view *script_sched_view_check(lua_State *L, int index);

/* A budget function of the engine's from the Lua function at `index`, which gets a flight and returns a number (0: none) or nil
 * (as set). `user` belongs to the script. Raises nothing. */
rill_status script_budget_create(lua_State *L, int index, rill_budget_fn *fn, void **user);

/* What is alike for cube pruning, from the Lua function at `index`, which gets the hypotheses and returns an array of numbers. */
rill_status script_cube_key_create(lua_State *L, int index, rill_key_fn *fn, void **user);

/* The name of the domain that the object at `index` stands for, or NULL if it is no rill.domain{}. */
const char *script_domain_name(lua_State *L, int index);

/* The room's parts, and what frees all of them. */
void script_open_heuristics(lua_State *L); /* rill.heuristic */
void script_open_scorers(lua_State *L);    /* rill.scorer */
void script_open_schedulers(lua_State *L); /* rill.policy */
void script_open_cube(lua_State *L);       /* what cube_key functions get */
void script_open_domains(lua_State *L);    /* rill.domain */
void script_tables_free(rill_script *s);

/* "max-items" as it is written in Lua. Returns `out`. */
const char *script_lua_name(const char *name, char out[SCRIPT_NAME_MAX]);

#endif
