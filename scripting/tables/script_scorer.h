/* script_scorer.h: scorers written in Lua. Shared by script_scorer.c (declarations, calls, fields of rows) and
 * scorer_modifiers.c (modifiers). */
#ifndef RILL_SCRIPTING_SCRIPT_SCORER_H
#define RILL_SCRIPTING_SCRIPT_SCORER_H

#include "declaration.h"

typedef struct scorer_instance {
    script_instance base;
    int32_t *offset;  /* [items + 1] rows of each item of the call in progress */
    int64_t *item_id; /* [items] */
    size_t offset_capacity, item_id_capacity;
    double max_bonus, max_end_bonus; /* if the table has `max_bonus`: its value for this instance */
    rill_text text;                  /* buffer for an action's name: freed even after a Lua error */
} scorer_instance;

/* Data of a view of rows. */
typedef struct scorer_call {
    scorer_instance *self;
    const rill_scorer_rows *rows;
    rill_modifiers *modifiers;
    int32_t items;
} scorer_call;

/* In a method of rows: the call. */
const scorer_call *scorer_self(lua_State *L);

/* The row whose number is at `index`, counted from 0. Raises. */
int32_t scorer_row(lua_State *L, const scorer_call *call, int index);

/* Push an array of the action `back` steps before each row's last; RILL_ACTION_START where there is none. */
void scorer_push_previous(lua_State *L, const rill_scorer_rows *rows, lua_Integer back, array_level level);
/* A method: a table of a row's actions, the last first. */
int scorer_history(lua_State *L);

/* --- scorer_modifiers.c: methods -------------------------------------------------------------------------------------- */

int scorer_add(lua_State *L);
int scorer_scale(lua_State *L);
int scorer_ban(lua_State *L);
int scorer_refuse(lua_State *L);
int scorer_allow(lua_State *L);
int scorer_forbid_end(lua_State *L);
int scorer_require_end(lua_State *L);
int scorer_reward(lua_State *L);
int scorer_end_reward(lua_State *L);
int scorer_limit(lua_State *L);

#endif
