/* script_scorer.h: scorers written in Lua. Shared by script_scorer.c (declarations, calls, fields of rows) and
 * scorer_modifiers.c (modifiers). */
#ifndef RILL_SCRIPTING_SCRIPT_SCORER_H
#define RILL_SCRIPTING_SCRIPT_SCORER_H

#include "declaration.h"

typedef struct scorer_instance {
    script_instance base;
    int32_t *offset;  /* [items + 1] item i of the call in progress has the rows [offset[i], offset[i + 1]) */
    int64_t *item_id; /* [items] input of each item */
    size_t offset_capacity, item_id_capacity;
    /* results of the script's max_bonus() for this instance; unused without that function */
    double max_bonus, max_end_bonus;
    /* buffer for an action's name; the instance frees it, so a Lua error cannot leak it */
    rill_text text;
} scorer_instance;

/* One call of the scorer: the data of the view `rows`. */
typedef struct scorer_call {
    scorer_instance *self;
    const rill_scorer_rows *rows;
    rill_modifiers *modifiers;
    int32_t items;
} scorer_call;

/* Return the call whose view is the first argument of a method of rows. */
const scorer_call *scorer_self(lua_State *L);

/* Return the row whose number, counted from 1, is at `index`. The result is counted from 0. Raises if out of range. */
int32_t scorer_row(lua_State *L, const scorer_call *call, int index);

/* Push an array with the action `back` steps before the last one of each row's hypothesis; RILL_ACTION_START if the
 * hypothesis is shorter. */
void scorer_push_previous(lua_State *L, const rill_scorer_rows *rows, lua_Integer back, array_level level);
/* rows:history(row, max_length): a table of the actions of a row's hypothesis, the last one first. */
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
