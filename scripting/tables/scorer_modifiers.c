/* The methods of a scorer's `rows` that modify scores, through rill_modifiers_*().
 *
 * All have the form rows:word(row, ...), with row numbers from 1. If row is nil, they apply to every row of the
 * call, and their numbers may be arrays over rows or items. The ranges of all arguments are checked here. */
#include "script_scorer.h"

#include <math.h>

enum { WORD_WORK = 10 }; /* instructions charged per row for each call of a method */

/* The integer argument that a method takes after the row: none, an action, or a limit. */
typedef enum number_kind { NO_NUMBER, ACTION, COUNT } number_kind;

typedef struct modifier_form {
    const char *word;
    number_kind number;
    int has_value;
    rill_status (*modify)(rill_modifiers *modifiers, int32_t row, int32_t number, float value);
} modifier_form;

/* The numbers that a method call gives for its rows: with step 1 one element per row, with step 0 one number for all
 * rows. */
typedef struct row_numbers {
    int step;
    const double *values;
    double single;
} row_numbers;

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Return 1 if the method is called for one row, whose number is at stack index 2; 0 if it is called for all rows. */
static int is_one_row(lua_State *L, const scorer_call *c, int32_t *row)
{
    *row = 0;
    if (lua_isnoneornil(L, 2)) return 0;
    *row = scorer_row(L, c, 2);
    return 1;
}

static int32_t checked_action(lua_State *L, const scorer_call *c, lua_Integer action)
{
    if (action < 0 || action >= c->rows->info->actions)
        luaL_error(L, "action %I is outside 0..%d", (LUAI_UACINT)action, (int)c->rows->info->actions - 1);
    return (int32_t)action;
}

/* Read the array at `index`, broadcast to one element per row, into a userdata that is pushed. */
static row_numbers push_row_values(lua_State *L, const scorer_call *c, int index)
{
    double *memory = lua_newuserdatauv(L, (size_t)c->rows->n * sizeof *memory, 0);
    script_array_store(L, index, ARRAY_F64, memory, c->rows->n, ARRAY_CELLS);
    return (row_numbers){1, memory, 0};
}

static void read_numbers(lua_State *L, const scorer_call *c, const modifier_form *f, int all, int index,
                         row_numbers *out)
{
    *out = (row_numbers){0, &out->single, 0};
    if (f->number == NO_NUMBER) return;
    if (all && script_array_is(L, index))
        *out = push_row_values(L, c, index);
    else if (f->number == ACTION)
        out->single = checked_action(L, c, luaL_checkinteger(L, index));
    else
        out->single = (double)luaL_checkinteger(L, index);
}

static void read_values(lua_State *L, const scorer_call *c, const modifier_form *f, int all, int index,
                        row_numbers *out)
{
    *out = (row_numbers){0, &out->single, 0};
    if (!f->has_value) return;
    if (all && script_array_is(L, index))
        *out = push_row_values(L, c, index);
    else
        out->single = luaL_checknumber(L, index);
}

/* --- statements --------------------------------------------------------------------------------------------------- */

/* Check the integer argument for a row. A negative action means "none" (such as the action before an item's first
 * one) and becomes -1. A limit above INT32_MAX means no limit. */
static int32_t checked_number(lua_State *L, const scorer_call *c, const modifier_form *f, int32_t row, double x)
{
    if (f->number == NO_NUMBER) return 0;
    if (f->number == COUNT) {
        luaL_argcheck(L, x >= 1, 3, "a limit of at least 1 expected");
        return x < INT32_MAX ? (int32_t)x : INT32_MAX;
    }
    if (!(x == floor(x) && fabs(x) <= 0x1p53))
        luaL_error(L, "rows:%s: the action for row %d is %f: a whole number in 0..%d was expected", f->word,
                   (int)row + 1, (LUAI_UACNUMBER)x, (int)c->rows->info->actions - 1);
    return x < 0 ? -1 : checked_action(L, c, (lua_Integer)x);
}

/* Convert a value to float. -inf masks the action. +inf and NaN raise, since they would leave choices without an
 * order; so do numbers beyond a float's range. */
static float checked_value(lua_State *L, const modifier_form *f, int32_t row, double value)
{
    const float v = (float)value;
    if (isnan(v) || v == INFINITY || (v == -INFINITY && value > -HUGE_VAL))
        luaL_error(L, "rows:%s: the value for row %d is %f: a 32-bit float below infinity was expected", f->word,
                   (int)row + 1, (LUAI_UACNUMBER)(isnan(v) ? fabs(value) : value)); /* print NaN without a sign */
    return v;
}

static int modify_rows(lua_State *L, const modifier_form *f)
{
    const scorer_call *c = scorer_self(L);
    int32_t first;
    int all = !is_one_row(L, c, &first);
    row_numbers number, value;
    lua_settop(L, 4);
    read_numbers(L, c, f, all, 3, &number);
    read_values(L, c, f, all, f->number == NO_NUMBER ? 3 : 4, &value);
    int32_t n = all ? c->rows->n : 1;
    script_charge(L, (int64_t)n * WORD_WORK);
    for (int32_t i = 0; i < n; i++) {
        const int32_t x = checked_number(L, c, f, first + i, number.values[i * number.step]);
        if (f->number == ACTION && x < 0) continue;
        const float v = checked_value(L, f, first + i, value.values[i * value.step]);
        rill_status status = f->modify(c->modifiers, first + i, x, v);
        if (status < 0) return script_raise(L, status);
    }
    return 0;
}

static rill_status modify_ban(rill_modifiers *modifiers, int32_t row, int32_t action, float value)
{
    (void)value;
    return rill_modifiers_ban(modifiers, row, action);
}

static rill_status modify_forbid_end(rill_modifiers *modifiers, int32_t row, int32_t number, float value)
{
    (void)number, (void)value;
    return rill_modifiers_end_rule(modifiers, row, RILL_END_FORBIDDEN);
}

static rill_status modify_require_end(rill_modifiers *modifiers, int32_t row, int32_t number, float value)
{
    (void)number, (void)value;
    return rill_modifiers_end_rule(modifiers, row, RILL_END_REQUIRED);
}

static rill_status modify_reward(rill_modifiers *modifiers, int32_t row, int32_t number, float value)
{
    (void)number;
    return rill_modifiers_reward(modifiers, row, value);
}

static rill_status modify_end_reward(rill_modifiers *modifiers, int32_t row, int32_t number, float value)
{
    (void)number;
    return rill_modifiers_end_reward(modifiers, row, value);
}

static rill_status modify_limit(rill_modifiers *modifiers, int32_t row, int32_t m, float value)
{
    (void)value;
    return rill_modifiers_limit_children(modifiers, row, m);
}

int scorer_add(lua_State *L)
{
    return modify_rows(L, &(modifier_form){"add", ACTION, 1, rill_modifiers_add});
}

int scorer_scale(lua_State *L)
{
    return modify_rows(L, &(modifier_form){"scale", ACTION, 1, rill_modifiers_scale});
}

int scorer_ban(lua_State *L)
{
    return modify_rows(L, &(modifier_form){"ban", ACTION, 0, modify_ban});
}

int scorer_forbid_end(lua_State *L)
{
    return modify_rows(L, &(modifier_form){"forbid_end", NO_NUMBER, 0, modify_forbid_end});
}

int scorer_require_end(lua_State *L)
{
    return modify_rows(L, &(modifier_form){"require_end", NO_NUMBER, 0, modify_require_end});
}

int scorer_reward(lua_State *L)
{
    return modify_rows(L, &(modifier_form){"reward", NO_NUMBER, 1, modify_reward});
}

int scorer_end_reward(lua_State *L)
{
    return modify_rows(L, &(modifier_form){"end_reward", NO_NUMBER, 1, modify_end_reward});
}

int scorer_limit(lua_State *L)
{
    return modify_rows(L, &(modifier_form){"limit", COUNT, 0, modify_limit});
}

/* rows:refuse(row, why): fail the row's input with that message. */
int scorer_refuse(lua_State *L)
{
    const scorer_call *c = scorer_self(L);
    size_t length;
    const int32_t row = scorer_row(L, c, 2);
    luaL_checklstring(L, 3, &length);
    const char *why = script_text(L, 3, "rows:refuse: the message");
    script_charge(L, (int64_t)length + WORD_WORK);
    const rill_status status = rill_modifiers_fail_input(c->modifiers, row, why);
    return status < 0 ? script_raise(L, status) : 0;
}

/* --- allowed sets ------------------------------------------------------------------------------------------------- */

/* rows:allow(row, actions): allow only the actions in a table; an empty table allows none. */
int scorer_allow(lua_State *L)
{
    const scorer_call *c = scorer_self(L);
    int32_t first;
    int32_t rows = is_one_row(L, c, &first) ? 1 : c->rows->n;
    luaL_checktype(L, 3, LUA_TTABLE);
    lua_Integer n = (lua_Integer)lua_rawlen(L, 3);
    script_charge(L, n * rows * WORD_WORK);
    rill_status status = RILL_OK;
    for (lua_Integer i = 1; i <= n; i++) {
        int is_integer;
        lua_rawgeti(L, 3, i);
        lua_Integer value = lua_tointegerx(L, -1, &is_integer);
        if (!is_integer)
            return luaL_error(L, "rows:allow: entry %I must be a whole number, not a %s", (LUAI_UACINT)i,
                              luaL_typename(L, -1));
        int32_t action = checked_action(L, c, value);
        for (int32_t row = first; status == RILL_OK && row < first + rows; row++)
            status = rill_modifiers_allow(c->modifiers, row, action);
        if (status < 0) return script_raise(L, status);
        lua_pop(L, 1);
    }
    for (int32_t row = first; n == 0 && status == RILL_OK && row < first + rows; row++)
        status = rill_modifiers_allow_none(c->modifiers, row);
    return status < 0 ? script_raise(L, status) : 0;
}
