/* Scorers written in Lua: rill.scorer{}. Their argument `rows` is a view of the engine's rill_scorer_rows.
 *
 * A scorer is called once per timestep and phase. An item's rows are a segment, over which arrays reduce and broadcast. Methods that
 * modify scores are rows:word(row, ...), with rows from 1; row nil means all rows, with numbers or arrays over rows or items.
 *
 * Also functions for the option cube_key: from a view of all live hypotheses they return a number for each; equal numbers are equivalent
 * for cube pruning. */
#include <math.h>
#include <string.h>

#include "rill/carve.h"
#include "rill/engine.h"
#include "tables.h"

/* Instructions charged for: a step to the parent, a look-up of a name, tokenizing a byte, a row of a method call. */
enum { STEP_WORK = 10, NAME_WORK = 100, LETTER_WORK = 20, ROW_WORK = 10 };

enum { SCORE_FUNCTION, MAX_BONUS_FUNCTION }; /* indexes of the functions in the declaration of a scorer */

typedef struct scorer_instance {
    script_instance base;
    int32_t *offset;    /* [items + 1] input i of the call in progress has the rows [offset[i], offset[i + 1]) */
    int64_t *item_id;   /* [items] id of each item's input */
    rill_columns items; /* memory of `offset` and `item_id` */
    /* results of the script's max_bonus() for this instance; unused if the script has no such function */
    double max_bonus, max_end_bonus;
    /* buffer for the name of an action; the instance owns it, so that a Lua error cannot leak it */
    rill_text text;
} scorer_instance;

/* A call of a scorer. */
typedef struct scorer_call {
    scorer_instance *self;
    const rill_scorer_rows *rows;
    rill_modifiers *modifiers;
    int32_t items;
} scorer_call;

static const scorer_call *scorer_self(lua_State *L)
{
    return script_view_self(L)->call;
}

/* --- rows (one per hypothesis) ------------------------------------------------------------------------------------- */

/* Return a row, from 0, whose number from 1 is at `index`. Raises if out of range. */
static int32_t row_at(lua_State *L, const rill_scorer_rows *rows, int index)
{
    lua_Integer row = luaL_checkinteger(L, index);
    if (row < 1 || row > rows->n) luaL_error(L, "row %I is outside 1..%d", (LUAI_UACINT)row, (int)rows->n);
    return (int32_t)row - 1;
}

/* Push an array of each row's action `back` steps before the last; RILL_ACTION_START if the hypothesis is shorter. */
static void push_previous(lua_State *L, const rill_scorer_rows *rows, lua_Integer back, array_level level)
{
    int32_t *action = script_array_make(L, ARRAY_I32, rows->n, level);
    int64_t steps = rows->n;
    for (int32_t row = 0; row < rows->n; row++) {
        const rill_hyp_node *h = &rows->hyp_nodes[rows->hyp_node[row]];
        for (lua_Integer i = 0; i < back && h->parent >= 0; i++, steps++) h = &rows->hyp_nodes[h->parent];
        action[row] = h->action;
    }
    script_charge(L, steps * STEP_WORK);
}

static void read_last(lua_State *L, const script_view *view, array_level level)
{
    push_previous(L, view->data, 0, level);
}

/* rows:previous(back), h:previous(back): see push_previous(). The number of the method is the level of the resulting array. */
static int previous(lua_State *L)
{
    const rill_scorer_rows *rows = script_view_self(L)->data;
    const lua_Integer back = luaL_checkinteger(L, 2);
    luaL_argcheck(L, back >= 0, 2, "at least 0 expected");
    push_previous(L, rows, back, (array_level)script_view_number(L));
    return 1;
}

/* rows:history(row, max_length): return a table with the latest actions of a row's hypothesis, the last one first. */
static int history(lua_State *L)
{
    const rill_scorer_rows *rows = script_view_self(L)->data;
    int32_t row = row_at(L, rows, 2);
    lua_Integer max_length = luaL_optinteger(L, 3, LUA_MAXINTEGER), n = 0;
    const rill_hyp_node *h = &rows->hyp_nodes[rows->hyp_node[row]];
    lua_newtable(L);
    for (; n < max_length && h->action != RILL_ACTION_START; h = &rows->hyp_nodes[h->parent]) {
        lua_pushinteger(L, h->action);
        lua_rawseti(L, -2, ++n);
    }
    return 1;
}

static int text(lua_State *L)
{
    const scorer_call *c = scorer_self(L);
    const int32_t row = *script_view_cells(L);
    script_charge(L, (int64_t)c->rows->text_length[row] / LETTER_WORK);
    lua_pushlstring(L, c->rows->text[row], c->rows->text_length[row]);
    return 1;
}

/* --- hypothesis state ----------------------------------------------------------------------------------------------- */

/* Return the address of a number in a scorer's state. Stack index 2: row; 3: the number's index. Raises if out of range. */
static char *state_number(lua_State *L)
{
    const scorer_call *c = scorer_self(L);
    const int32_t n = c->self->base.table->number, row = row_at(L, c->rows, 2);
    const lua_Integer i = luaL_checkinteger(L, 3);
    if (n == 0)
        luaL_error(
            L, "hypotheses have no state: declare the scorer with state = N, to store N numbers for each hypothesis");
    if (i < 1 || i > n) luaL_error(L, "number %I of the state is outside 1..%d", (LUAI_UACINT)i, (int)n);
    return (char *)c->rows->state + ((size_t)row * (size_t)n + (size_t)(i - 1)) * sizeof(double);
}

/* rows:state(r, i): return number i in the scorer's state of row r. */
static int state(lua_State *L)
{
    double value;
    memcpy(&value, state_number(L), sizeof value);
    lua_pushnumber(L, value);
    return 1;
}

/* rows:keep(r, i, value): store `value` as number i in the scorer's state of row r. */
static int store_state(lua_State *L)
{
    const double value = luaL_checknumber(L, 4);
    memcpy(state_number(L), &value, sizeof value);
    return 0;
}

/* --- names of actions --------------------------------------------------------------------------------------------- */

static int name(lua_State *L)
{
    const scorer_call *c = scorer_self(L);
    lua_Integer action = luaL_checkinteger(L, 2);
    rill_text *text = &c->self->text;
    rill_text_reset(text);
    script_charge(L, NAME_WORK);
    rill_status status = RILL_ERR_NOT_FOUND;
    if (action >= 0 && action < c->rows->info->actions)
        status = rill_model_action_name(c->rows->model, (int32_t)action, text);
    if (status == RILL_ERR_NOT_FOUND) {
        lua_pushnil(L);
        return 1;
    }
    script_check(L, status);
    lua_pushlstring(L, text->data, text->length);
    return 1;
}

static int find(lua_State *L)
{
    size_t length;
    const scorer_call *c = scorer_self(L);
    const char *text = luaL_checklstring(L, 2, &length);
    script_charge(L, NAME_WORK + (int64_t)length);
    int32_t action = rill_model_find_action(c->rows->model, text, length);
    if (action == RILL_NO_ACTION)
        lua_pushnil(L);
    else
        lua_pushinteger(L, action);
    return 1;
}

/* rows:tokenize(text): return a table of actions, or nil and a message. A userdata holds the actions, so that an error cannot leak them. */
static int tokenize(lua_State *L)
{
    size_t length;
    int32_t n = 32, capacity, *action;
    rill_status status;
    const scorer_call *c = scorer_self(L);
    const char *words = luaL_checklstring(L, 2, &length);
    rill_context *ctx = c->self->base.table->script->ctx;
    do {
        capacity = n;
        action = lua_newuserdatauv(L, (size_t)capacity * sizeof *action, 0);
        script_charge(L, NAME_WORK + (int64_t)length * LETTER_WORK);
        status = rill_model_tokenize(c->rows->model, ctx, words, length, action, capacity, &n);
    } while (status == RILL_OK && n > capacity);
    if (status == RILL_ERR_INPUT || status == RILL_ERR_NOT_FOUND) {
        lua_pushnil(L);
        lua_pushstring(L, rill_error(ctx));
        return 2;
    }
    script_check(L, status);
    script_push_integers(L, action, n);
    return 1;
}

/* --- arguments of modifiers ---------------------------------------------------------------------------------------- */

/* Numbers that a script passes to a method. step 1: `values` per row; step 0: `single` for all. */
typedef struct row_numbers {
    int step;
    const double *values;
    double single;
} row_numbers;

/* The integer argument that a method has after the row: none, an action, or a count (a limit). */
typedef enum number_kind { NO_NUMBER, ACTION, COUNT } number_kind;

/* The methods that apply a modifier, as entries X(MODIFIER, word, kind of number, whether it has a value, call for a row). */
#define MODIFIERS(X)                                                                                        \
    X(ADD, "add", ACTION, 1, rill_modifiers_add(modifiers, row, number, value))                             \
    X(SCALE, "scale", ACTION, 1, rill_modifiers_scale(modifiers, row, number, value))                       \
    X(BAN, "ban", ACTION, 0, rill_modifiers_ban(modifiers, row, number))                                    \
    X(FORBID_END, "forbid_end", NO_NUMBER, 0, rill_modifiers_end_rule(modifiers, row, RILL_END_FORBIDDEN))  \
    X(REQUIRE_END, "require_end", NO_NUMBER, 0, rill_modifiers_end_rule(modifiers, row, RILL_END_REQUIRED)) \
    X(REWARD, "reward", NO_NUMBER, 1, rill_modifiers_reward(modifiers, row, value))                         \
    X(END_REWARD, "end_reward", NO_NUMBER, 1, rill_modifiers_end_reward(modifiers, row, value))             \
    X(LIMIT, "limit", COUNT, 0, rill_modifiers_limit_children(modifiers, row, number))

typedef enum modifier {
#define ENTRY(MODIFIER, ...) MODIFIER,
    MODIFIERS(ENTRY)
#undef ENTRY
} modifier;

typedef struct modifier_form {
    const char *word;
    number_kind number;
    int has_value;
} modifier_form;

#define FORM(MODIFIER, word, kind, has_value, call) {word, kind, has_value},
static const modifier_form forms[] = {MODIFIERS(FORM)};

/* Return the number of rows of a method call: 1 if stack index 2 has a row, else all. *first: the first row. */
static int32_t read_rows(lua_State *L, const scorer_call *c, int32_t *first)
{
    *first = lua_isnoneornil(L, 2) ? 0 : row_at(L, c->rows, 2);
    return lua_isnoneornil(L, 2) ? c->rows->n : 1;
}

static int32_t checked_action(lua_State *L, const scorer_call *c, lua_Integer action)
{
    if (action < 0 || action >= c->rows->info->actions)
        luaL_error(L, "action %I is outside 0..%d", (LUAI_UACINT)action, (int)c->rows->info->actions - 1);
    return (int32_t)action;
}

/* Read a method's argument at `index`. With `all` it may be an array, broadcast to rows in a pushed userdata. kind: what a single integer
 * must be; NO_NUMBER: a value. */
static void read_argument(lua_State *L, const scorer_call *c, number_kind kind, int all, int index, row_numbers *out)
{
    *out = (row_numbers){0, &out->single, 0};
    if (all && script_array_is(L, index)) {
        double *memory = lua_newuserdatauv(L, (size_t)c->rows->n * sizeof *memory, 0);
        script_array_store(L, index, ARRAY_F64, memory, c->rows->n, ARRAY_CELLS, NULL);
        *out = (row_numbers){1, memory, 0};
    } else if (kind == NO_NUMBER) {
        out->single = luaL_checknumber(L, index);
    } else {
        const lua_Integer number = luaL_checkinteger(L, index);
        out->single = kind == ACTION ? checked_action(L, c, number) : (double)number;
    }
}

/* Check a method's integer argument for a row. A negative action becomes -1, no action. A limit above INT32_MAX means no limit. */
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

/* Convert a value to float; -infinity forbids the action. Raises for numbers beyond float, +infinity and NaN: choices would have no
 * order. */
static float checked_value(lua_State *L, const modifier_form *f, int32_t row, double value)
{
    const float v = (float)value;
    /* the message shows NaN without its sign */
    if (isnan(v) || v == INFINITY || (v == -INFINITY && value > -HUGE_VAL))
        luaL_error(L, "rows:%s: the value for row %d is %f: a 32-bit float below infinity was expected", f->word,
                   (int)row + 1, (LUAI_UACNUMBER)(isnan(v) ? fabs(value) : value));
    return v;
}

/* --- modifiers ----------------------------------------------------------------------------------------------------- */

static rill_status modify_row(rill_modifiers *modifiers, modifier how, int32_t row, int32_t number, float value)
{
    switch (how) {
#define CASE(MODIFIER, word, kind, has_value, call) \
    case MODIFIER: return call;
        MODIFIERS(CASE)
#undef CASE
    }
    return RILL_OK;
}

/* rows:WORD(row, ...): apply a modifier, such as add or ban, to a row or to all rows. The method's number is the modifier. */
static int modify_rows(lua_State *L)
{
    const scorer_call *c = scorer_self(L);
    const modifier how = (modifier)script_view_number(L);
    const modifier_form *f = &forms[how];
    int32_t first;
    const int32_t n = read_rows(L, c, &first);
    const int all = lua_isnoneornil(L, 2);
    row_numbers number = {0, &number.single, 0}, value = {0, &value.single, 0};
    lua_settop(L, 4);
    if (f->number != NO_NUMBER) read_argument(L, c, f->number, all, 3, &number);
    if (f->has_value) read_argument(L, c, NO_NUMBER, all, f->number == NO_NUMBER ? 3 : 4, &value);
    script_charge(L, (int64_t)n * ROW_WORK);
    for (int32_t i = 0; i < n; i++) {
        const int32_t x = checked_number(L, c, f, first + i, number.values[i * number.step]);
        if (f->number == ACTION && x < 0) continue;
        const float v = checked_value(L, f, first + i, value.values[i * value.step]);
        script_check(L, modify_row(c->modifiers, how, first + i, x, v));
    }
    return 0;
}

/* rows:refuse(row, why): fail the input of a row with the message `why`. */
static int refuse(lua_State *L)
{
    const scorer_call *c = scorer_self(L);
    size_t length;
    const int32_t row = row_at(L, c->rows, 2);
    luaL_checklstring(L, 3, &length);
    const char *why = script_text(L, 3, "rows:refuse: the message");
    script_charge(L, (int64_t)length + ROW_WORK);
    return script_check(L, rill_modifiers_fail_input(c->modifiers, row, why));
}

/* rows:allow(row, actions): allow only the actions in a table for a row; an empty table allows no action. */
static int allow(lua_State *L)
{
    const scorer_call *c = scorer_self(L);
    int32_t first;
    const int32_t rows = read_rows(L, c, &first);
    luaL_checktype(L, 3, LUA_TTABLE);
    lua_Integer n = (lua_Integer)lua_rawlen(L, 3);
    script_charge(L, n * rows * ROW_WORK);
    for (lua_Integer i = 1; i <= n; i++) {
        int is_integer;
        lua_rawgeti(L, 3, i);
        lua_Integer value = lua_tointegerx(L, -1, &is_integer);
        if (!is_integer)
            return luaL_error(L, "rows:allow: entry %I must be a whole number, not a %s", (LUAI_UACINT)i,
                              luaL_typename(L, -1));
        int32_t action = checked_action(L, c, value);
        for (int32_t row = first; row < first + rows; row++)
            script_check(L, rill_modifiers_allow(c->modifiers, row, action));
        lua_pop(L, 1);
    }
    for (int32_t row = first; n == 0 && row < first + rows; row++)
        script_check(L, rill_modifiers_allow_none(c->modifiers, row));
    return 0;
}

/* --- fields and methods -------------------------------------------------------------------------------------------- */

static void read_actions(lua_State *L, const script_view *view, array_level level)
{
    (void)level;
    lua_pushinteger(L, ((const rill_scorer_rows *)view->data)->info->actions);
}

static void read_item_id(lua_State *L, const script_view *view, array_level level)
{
    const scorer_call *c = view->call;
    script_array_push(L, ARRAY_I64, c->self->item_id, c->items, level, ARRAY_READ_ONLY);
}

#define MEMBER(member) offsetof(rill_scorer_rows, member)
static const script_view_field fields[] = {
    {.name = "n", .kind = VIEW_ITEMS},
    {.name = "size", .kind = VIEW_CELLS},
    {.name = "phase", .kind = VIEW_INT32, .offset = MEMBER(phase)},
    {.name = "actions", .kind = VIEW_READ, .read = read_actions},
    {.name = "item_id", .kind = VIEW_READ, .level = ARRAY_ITEMS, .read = read_item_id},
    {.name = "timestep", .kind = VIEW_ARRAY, .offset = MEMBER(timestep), .type = ARRAY_I32, .level = ARRAY_CELLS},
    {.name = "rank", .kind = VIEW_ARRAY, .offset = MEMBER(rank), .type = ARRAY_I32, .level = ARRAY_CELLS},
    {.name = "path_score", .kind = VIEW_ARRAY, .offset = MEMBER(path_score), .type = ARRAY_F64, .level = ARRAY_CELLS},
    {.name = "last", .kind = VIEW_READ, .level = ARRAY_CELLS, .read = read_last},
    {.name = NULL}};

static const script_view_method methods[] = {
    {"range", script_view_range, 0},
    {"text", text, 0},
    {"history", history, 0},
    {"previous", previous, ARRAY_CELLS},
    {"state", state, 0},
    {"keep", store_state, 0},
    {"name", name, 0},
    {"find", find, 0},
    {"tokenize", tokenize, 0},
    {"refuse", refuse, 0},
    {"allow", allow, 0},
#define METHOD(MODIFIER, word, ...) {word, modify_rows, MODIFIER},
    MODIFIERS(METHOD)
#undef METHOD
        {NULL, NULL, 0},
};

const script_view_class script_rows_class = {"rows", "rows", fields, methods, 0};

rill_modifiers *script_rows_modifiers(const script_view *rows)
{
    return ((const scorer_call *)rows->call)->modifiers;
}

/* --- calling a scorer --------------------------------------------------------------------------------------------- */

/* Find the first row of each input in the call, and store it in the instance's `offset`. */
static rill_status find_items(scorer_call *c)
{
    scorer_instance *self = c->self;
    const rill_scorer_rows *rows = c->rows;
    rill_context *ctx = self->base.table->script->ctx;
    const rill_array columns[] = {RILL_ARRAY(self->offset), RILL_ARRAY(self->item_id)};
    const rill_status status = rill_columns_grow(ctx, &self->items, (size_t)rows->n + 1, columns, 2, "a script's rows");
    if (status < 0) return status;
    self->text.ctx = ctx;
    c->items = 0;
    for (int32_t row = 0; row < rows->n; row++) {
        if (row > 0 && rows->item_id[row] == rows->item_id[row - 1]) continue;
        self->item_id[c->items] = rows->item_id[row];
        self->offset[c->items++] = row;
    }
    self->offset[c->items] = rows->n;
    return RILL_OK;
}

static rill_status call_script_scorer(scorer_call *c)
{
    rill_script *s = c->self->base.table->script;
    rill_status status = find_items(c);
    if (status < 0) return status;
    script_frame frame = script_begin(s, c->self->offset, c->items);
    status = script_instance_call(&c->self->base, SCORE_FUNCTION, &script_rows_class, (void *)c->rows, c,
                                  script_refuse_array, (void *)"change scores by rows:add() and similar methods");
    script_end(s, frame);
    return status;
}

typedef struct failed_call {
    const scorer_call *all;
    int32_t first; /* first row of the input to be tried next */
} failed_call;

/* Repeat the call for the next input alone, to find the input that fails. Its modifiers are irrelevant, since the run ends. */
static rill_status call_script_scorer_for_item(void *user, int32_t i, int64_t *id)
{
    (void)i;
    failed_call *f = user;
    rill_scorer_rows rows = *f->all->rows;
    int32_t first = f->first, end = first + 1;
    *id = rows.item_id[first];
    while (end < rows.n && rows.item_id[end] == *id) end++;
    f->first = end;
    rows.n = end - first;
    rows.item_id += first;
    script_view_advance(&script_rows_class, &rows, 0, first);
    rows.hyp_node += first;
    rows.text += first;
    rows.text_length += first;
    if (rows.state != NULL)
        rows.state = (char *)rows.state + (size_t)first * f->all->self->base.table->as.scorer.state_bytes;
    return call_script_scorer(&(scorer_call){f->all->self, &rows, f->all->modifiers, 0});
}

static rill_status score(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    if (rows->n == 0) return RILL_OK;
    scorer_call c = {self, rows, modifiers, 0};
    rill_status status = call_script_scorer(&c);
    if (status >= 0 || c.items == 0) return status;
    return script_locate_error(self, status, c.items, rows->item_id[0], call_script_scorer_for_item,
                               &(failed_call){&c, 0});
}

/* --- declaring scorers -------------------------------------------------------------------------------------------- */

static void free_scorer_instance(script_instance *instance)
{
    scorer_instance *self = (scorer_instance *)instance;
    rill_context *ctx = instance->table->script->ctx;
    rill_columns_free(ctx, &self->items);
    if (self->text.ctx != NULL) rill_text_clear(&self->text);
}

/* Return the number at `index`, which must be below infinity. If may_lack is 1, nil counts as 0. */
static double check_bonus(lua_State *L, int index, int may_lack, const char *what)
{
    if (may_lack && lua_isnil(L, index)) return 0;
    if (lua_type(L, index) != LUA_TNUMBER)
        luaL_error(L, "max_bonus returned a %s for %s: a number was expected", luaL_typename(L, index), what);
    const double value = lua_tonumber(L, index);
    if (!(value < HUGE_VAL))
        luaL_error(L, "max_bonus returned %f for %s: a number below infinity was expected", (LUAI_UACNUMBER)fabs(value),
                   what);
    return value;
}

/* Call the script's max_bonus(), if it has one, and store its results, which stay constant for this instance. */
static void find_max_bonus(lua_State *L, script_instance *instance)
{
    scorer_instance *self = (scorer_instance *)instance;
    if (self->base.table->function[MAX_BONUS_FUNCTION] == LUA_NOREF) return;
    lua_rawgeti(L, LUA_REGISTRYINDEX, self->base.table->function[MAX_BONUS_FUNCTION]);
    lua_rawgeti(L, LUA_REGISTRYINDEX, self->base.value);
    lua_call(L, 1, 2);
    self->max_bonus = check_bonus(L, -2, 0, "actions");
    self->max_end_bonus = check_bonus(L, -1, 1, "the end");
}

SCRIPT_CREATE(create, rill_scorer, script_instance_create)

static double scorer_max_bonus(const void *self, double *end)
{
    const scorer_instance *instance = self;
    *end = instance->max_end_bonus;
    return instance->max_bonus;
}

static rill_status publish(script_table *t)
{
    rill_scorer *scorer = &t->as.scorer;
    *scorer = (rill_scorer){SCRIPT_PLUGIN(rill_scorer, t),
                            .arguments = t->arguments,
                            .create = create,
                            .score = score,
                            .destroy = script_instance_destroy,
                            .state_bytes = (size_t)t->number * sizeof(double),
                            .max_bonus = t->function[MAX_BONUS_FUNCTION] != LUA_NOREF ? scorer_max_bonus : NULL};
    return rill_register_scorer(t->script->ctx, scorer);
}

const script_declaration script_scorer_declaration = {
    .kind = SCRIPT_SCORER,
    .word = "scorer",
    .functions = {"score", "max_bonus"},
    .has_arguments = 1,
    .number_key = "state",
    .max_number = 256,
    .instance_size = sizeof(scorer_instance),
    .instance_start = find_max_bonus,
    .instance_finish = free_scorer_instance,
    .publish = publish,
};

/* --- cube keys ----------------------------------------------------------------------------------------------------- */

static const script_view_field hypotheses_fields[] = {
    {.name = "size", .kind = VIEW_INT32, .offset = MEMBER(n)},
    {.name = "phase", .kind = VIEW_INT32, .offset = MEMBER(phase)},
    {.name = "item_id", .kind = VIEW_ARRAY, .offset = MEMBER(item_id), .type = ARRAY_I64},
    {.name = "timestep", .kind = VIEW_ARRAY, .offset = MEMBER(timestep), .type = ARRAY_I32},
    {.name = "rank", .kind = VIEW_ARRAY, .offset = MEMBER(rank), .type = ARRAY_I32},
    {.name = "path_score", .kind = VIEW_ARRAY, .offset = MEMBER(path_score), .type = ARRAY_F64},
    {.name = "last", .kind = VIEW_READ, .read = read_last},
    {.name = NULL}};

static const script_view_method hypotheses_methods[] = {
    {"history", history, 0}, {"previous", previous, ARRAY_PLAIN}, {NULL, NULL, 0}};

static const script_view_class hypotheses_class = {"hypotheses", "h", hypotheses_fields, hypotheses_methods, MEMBER(n)};

typedef struct cube_keys {
    int32_t n;
    int64_t *key;
} cube_keys;

/* Return the bits of the number x as an integer key. Equal numbers have equal keys, so -0 counts as 0. */
static int64_t number_key(lua_State *L, double x)
{
    int64_t key;
    if (isnan(x)) luaL_error(L, "cube_key returned NaN");
    x += 0.0;
    memcpy(&key, &x, sizeof key);
    return key;
}

static void take_keys(lua_State *L, void *out)
{
    const cube_keys *a = out;
    double local[ARRAY_LOCAL];
    if (!script_array_is(L, -1))
        luaL_error(L, "cube_key returned a %s: an array with a number for each hypothesis was expected",
                   luaL_typename(L, -1));
    const array *keys = array_check(L, script_from_lua(L), -1);
    if (keys->n != a->n) luaL_error(L, "cube_key returned %d numbers for %d hypotheses", (int)keys->n, (int)a->n);
    const double *number = array_doubles(L, keys, local);
    for (int32_t i = 0; i < a->n; i++) a->key[i] = number_key(L, number[i]);
}

static rill_status call_cube_key(void *user, const rill_scorer_rows *rows, int64_t *key)
{
    const script_instance *self = user;
    rill_script *s = self->table->script;
    if (rows->n == 0) return RILL_OK;
    script_frame frame = script_begin(s, NULL, 0);
    rill_status status = script_instance_call(self, 0, &hypotheses_class, (void *)rows, NULL, take_keys,
                                              &(cube_keys){rows->n, key});
    script_end(s, frame);
    if (status >= 0) return RILL_OK;
    return rill_fail(s->ctx, status, "options.cube_key, in a timestep whose first is input %lld (line %lld): %s",
                     (long long)rows->item_id[0], (long long)rows->item_id[0] + 1, rill_error(s->ctx));
}

static const script_declaration key_declaration = {
    .kind = SCRIPT_SCORER, /* any kind will do, since a cube_key function is never registered */
    .word = "cube_key",
    .functions = {"cube_key"},
    .instance_size = sizeof(script_instance),
};

void script_cube_key_create(lua_State *L, int index, rill_key_fn *fn, void **user)
{
    *fn = call_cube_key;
    *user = script_function_make(L, index, &key_declaration);
}

/* --- opening ------------------------------------------------------------------------------------------------------- */

void script_open_scorers(lua_State *L)
{
    script_view_open(L, &script_rows_class);
    script_view_open(L, &hypotheses_class);
    script_declaration_open(L, &script_scorer_declaration);
}
