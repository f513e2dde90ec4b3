/* tables.h: Lua functions as engine callbacks, as used by the other modules of scripting/. */
#ifndef RILL_SCRIPTING_TABLES_H
#define RILL_SCRIPTING_TABLES_H

#include "state/state.h"

typedef enum script_kind { SCRIPT_HEURISTIC, SCRIPT_SCORER, SCRIPT_SCHEDULER, SCRIPT_DOMAIN } script_kind;

enum { SCRIPT_NAME_MAX = 48 }; /* maximum bytes of the name of a heuristic, scorer, scheduler or domain, with its NUL */

/* Return the struct of the registered plugin or domain of that kind and name, or NULL. */
const void *script_find(const rill_context *ctx, script_kind kind, const char *name);

/* Return the engine's struct that the view at `index` refers to. Raises if the value is not such a view, or the
 * view's call has returned. */
rill_candidates *script_candidates_check(lua_State *L, int index);
const rill_scorer_rows *script_rows_check(lua_State *L, int index, rill_modifiers **modifiers);
const rill_sched_view *script_sched_view_check(lua_State *L, int index);

/* Make a callback for max-batch-hypotheses from the Lua function at `index`. The function gets a scheduler view and
 * returns a number (0: no limit), or nil for the configured value. `user` belongs to the script. Raises nothing. */
rill_status script_budget_create(lua_State *L, int index, rill_budget_fn *fn, void **user);

/* Make a callback for the option cube_key from the Lua function at `index`, which gets the hypotheses and returns an
 * array of numbers: hypotheses with equal numbers are one class of cube pruning. `user` belongs to the script.
 * Raises nothing. */
rill_status script_cube_key_create(lua_State *L, int index, rill_key_fn *fn, void **user);

/* Return the name of the domain object at `index`, or NULL if the value is not the result of rill.domain{}. */
const char *script_domain_name(lua_State *L, int index);

/* Functions that open and close this module in a script's state: each adds one function to `rill`, or opens a view's
 * class. */
void script_open_heuristics(lua_State *L); /* rill.heuristic */
void script_open_scorers(lua_State *L);    /* rill.scorer */
void script_open_schedulers(lua_State *L); /* rill.scheduler */
void script_open_cube(lua_State *L);       /* the view that functions for the option cube_key get */
void script_open_domains(lua_State *L);    /* rill.domain */
void script_tables_free(rill_script *s);

/* Write the option's name to `out` with "_" instead of "-", as in "max_items". Returns `out`. */
const char *script_lua_name(const char *name, char out[SCRIPT_NAME_MAX]);

#endif
