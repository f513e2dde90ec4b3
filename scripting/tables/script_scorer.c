/* Scorers written in Lua: rill.scorer{}. Their argument `rows` is a view of the engine's rill_scorer_rows.
 *
 * The script is called once per timestep and phase. The rows of an item are adjacent and form a segment, over which
 * arrays reduce and broadcast.
 *
 * Divisions: fields · paths · hypothesis state · names · calls · declaring. */
#include "script_scorer.h"

#include <math.h>
#include <string.h>

#include "rill/engine.h"

/* Instructions charged: for a step to the parent node, which often misses the cache; for looking up a name; and for
 * tokenizing, where a tokenizer visits each byte several times. */
enum { STEP_WORK = 10, NAME_WORK = 100, LETTER_WORK = 20 };

enum { SCORE_FUNCTION, MAX_BONUS_FUNCTION }; /* indexes of the declaration's functions */

const scorer_call *scorer_self(lua_State *L)
{
    return script_view_self(L)->data;
}

int32_t scorer_row(lua_State *L, const scorer_call *call, int index)
{
    lua_Integer row = luaL_checkinteger(L, index);
    if (row < 1 || row > call->rows->n) luaL_error(L, "row %I is outside 1..%d", (LUAI_UACINT)row, (int)call->rows->n);
    return (int32_t)row - 1;
}

/* --- paths -------------------------------------------------------------------------------------------------------- */

/* Push an array with the action `back` steps before the last one of each row's hypothesis; RILL_ACTION_START if the
 * hypothesis is shorter. */
void scorer_push_previous(lua_State *L, const rill_scorer_rows *rows, lua_Integer back, array_level level)
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

static int previous(lua_State *L)
{
    const scorer_call *c = scorer_self(L);
    lua_Integer back = luaL_checkinteger(L, 2);
    luaL_argcheck(L, back >= 0, 2, "at least 0 expected");
    scorer_push_previous(L, c->rows, back, ARRAY_CELLS);
    return 1;
}

int scorer_history(lua_State *L)
{
    const scorer_call *c = scorer_self(L);
    int32_t row = scorer_row(L, c, 2);
    lua_Integer max_length = luaL_optinteger(L, 3, LUA_MAXINTEGER), n = 0;
    const rill_hyp_node *h = &c->rows->hyp_nodes[c->rows->hyp_node[row]];
    lua_newtable(L);
    for (; n < max_length && h->action != RILL_ACTION_START; h = &c->rows->hyp_nodes[h->parent]) {
        lua_pushinteger(L, h->action);
        lua_rawseti(L, -2, ++n);
    }
    return 1;
}

/* --- hypothesis state ----------------------------------------------------------------------------------------------- */

/* Return the address of number i in the state of row r; r and i are at stack indexes 2 and 3. Raises if one is out
 * of range. */
static char *state_number(lua_State *L)
{
    const scorer_call *c = scorer_self(L);
    const int32_t n = c->self->base.table->number, row = scorer_row(L, c, 2);
    const lua_Integer i = luaL_checkinteger(L, 3);
    if (n == 0)
        luaL_error(
            L, "hypotheses have no state: declare the scorer with state = N, to store N numbers for each hypothesis");
    if (i < 1 || i > n) luaL_error(L, "number %I of the state is outside 1..%d", (LUAI_UACINT)i, (int)n);
    return (char *)c->rows->state + ((size_t)row * (size_t)n + (size_t)(i - 1)) * sizeof(double);
}

/* rows:state(r, i): number i in the state of row r. */
static int state(lua_State *L)
{
    double value;
    memcpy(&value, state_number(L), sizeof value);
    lua_pushnumber(L, value);
    return 1;
}

/* rows:keep(r, i, value): store number i in the state of row r. */
static int store_state(lua_State *L)
{
    const double value = luaL_checknumber(L, 4);
    memcpy(state_number(L), &value, sizeof value);
    return 0;
}

/* --- fields ------------------------------------------------------------------------------------------------------- */

enum { N, SIZE, PHASE, ACTIONS, ITEM_ID, TIMESTEP, RANK, PATH_SCORE, LAST };

static const char *const fields[] = {"n",        "size", "phase",      "actions", "item_id",
                                     "timestep", "rank", "path_score", "last",    NULL};

static void push_cells(lua_State *L, array_type type, const void *data, const rill_scorer_rows *rows)
{
    script_array_push(L, type, data, rows->n, ARRAY_CELLS, 0);
}

static void read_field(lua_State *L, const script_view *view, int field)
{
    const scorer_call *c = view->data;
    const rill_scorer_rows *rows = c->rows;
    switch (field) {
    case N: lua_pushinteger(L, c->items); break;
    case SIZE: lua_pushinteger(L, rows->n); break;
    case PHASE: lua_pushinteger(L, rows->phase); break;
    case ACTIONS: lua_pushinteger(L, rows->info->actions); break;
    case ITEM_ID: script_array_push(L, ARRAY_I64, c->self->item_id, c->items, ARRAY_ITEMS, 0); break;
    case TIMESTEP: push_cells(L, ARRAY_I32, rows->timestep, rows); break;
    case RANK: push_cells(L, ARRAY_I32, rows->rank, rows); break;
    case PATH_SCORE: push_cells(L, ARRAY_F64, rows->path_score, rows); break;
    case LAST: scorer_push_previous(L, rows, 0, ARRAY_CELLS); break;
    }
}

/* Return a pointer to the first row of the item whose number is at stack index 2; the next element is the first row
 * of the next item. Raises if the number is out of range. */
static const int32_t *item_rows(lua_State *L, const scorer_call *c)
{
    lua_Integer i = luaL_checkinteger(L, 2);
    luaL_argcheck(L, i >= 1 && i <= c->items, 2, "not the number of an item");
    return &c->self->offset[i - 1];
}

static int range(lua_State *L)
{
    const int32_t *offset = item_rows(L, scorer_self(L));
    lua_pushinteger(L, offset[0] + 1);
    lua_pushinteger(L, offset[1]);
    return 2;
}

static int text(lua_State *L)
{
    const scorer_call *c = scorer_self(L);
    int32_t row = item_rows(L, c)[0];
    script_charge(L, (int64_t)c->rows->text_length[row] / LETTER_WORK);
    lua_pushlstring(L, c->rows->text[row], c->rows->text_length[row]);
    return 1;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static int name(lua_State *L)
{
    const scorer_call *c = scorer_self(L);
    lua_Integer action = luaL_checkinteger(L, 2);
    rill_text *text = &c->self->text;
    rill_text_reset(text);
    script_charge(L, NAME_WORK);
    if (action < 0 || action >= c->rows->info->actions) {
        lua_pushnil(L);
        return 1;
    }
    rill_status status = rill_model_action_name(c->rows->model, (int32_t)action, text);
    if (status == RILL_ERR_NOT_FOUND)
        lua_pushnil(L);
    else if (status < 0)
        return script_raise(L, status);
    else
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

/* rows:tokenize(text): a table of the text's actions, or nil and a message if the text cannot be tokenized. The
 * actions are read into a userdata, so a Lua error cannot leak their memory. */
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
    if (status < 0) return script_raise(L, status);
    lua_createtable(L, n, 0);
    for (int32_t i = 0; i < n; i++) {
        lua_pushinteger(L, action[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static const luaL_Reg methods[] = {
    {"range", range},
    {"text", text},
    {"history", scorer_history},
    {"previous", previous},
    {"state", state},
    {"keep", store_state},
    {"name", name},
    {"find", find},
    {"tokenize", tokenize},
    {"add", scorer_add},
    {"scale", scorer_scale},
    {"ban", scorer_ban},
    {"refuse", scorer_refuse},
    {"allow", scorer_allow},
    {"forbid_end", scorer_forbid_end},
    {"require_end", scorer_require_end},
    {"reward", scorer_reward},
    {"end_reward", scorer_end_reward},
    {"limit", scorer_limit},
    {NULL, NULL},
};

static const script_view_class rows_class = {"rows", fields, methods, read_field, NULL};

const rill_scorer_rows *script_rows_check(lua_State *L, int index, rill_modifiers **modifiers)
{
    const scorer_call *c = script_view_check(L, index, &rows_class)->data;
    if (modifiers != NULL) *modifiers = c->modifiers;
    return c->rows;
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

/* Find the first row of each item and store it in the instance's `offset`. */
static rill_status find_items(scorer_call *c)
{
    scorer_instance *self = c->self;
    const rill_scorer_rows *rows = c->rows;
    rill_context *ctx = self->base.table->script->ctx;
    rill_status status = rill_grow(ctx, (void **)&self->offset, &self->offset_capacity, (size_t)rows->n + 1,
                                   sizeof *self->offset, "a script's rows");
    if (status == RILL_OK)
        status = rill_grow(ctx, (void **)&self->item_id, &self->item_id_capacity, (size_t)rows->n,
                           sizeof *self->item_id, "a script's rows");
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
    status = script_instance_call(&c->self->base, SCORE_FUNCTION, &rows_class, c, script_refuse_array,
                                  (void *)"change scores by rows:add() and similar methods");
    script_end(s, frame);
    return status;
}

typedef struct failed_call {
    const scorer_call *all;
    int32_t first; /* first row of the item to be tried next */
} failed_call;

/* Repeat the call for the next item alone, to find the item that fails. The modifiers that it sets do not matter,
 * since the run ends. */
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
    rows.timestep += first;
    rows.rank += first;
    rows.path_score += first;
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

/* --- declaring ---------------------------------------------------------------------------------------------------- */

static void free_scorer_instance(script_instance *instance)
{
    scorer_instance *self = (scorer_instance *)instance;
    rill_context *ctx = instance->table->script->ctx;
    rill_free(ctx, self->offset, self->offset_capacity * sizeof *self->offset);
    rill_free(ctx, self->item_id, self->item_id_capacity * sizeof *self->item_id);
    if (self->text.ctx != NULL) rill_text_clear(&self->text);
}

/* Return the number at `index`, which must be below infinity. nil counts as 0 if `may_lack` is 1. */
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

/* Call max_bonus() and store its results, which are constant for this instance; runs in a protected call. */
static int find_max_bonus(lua_State *L)
{
    scorer_instance *self = lua_touserdata(L, 1);
    lua_rawgeti(L, LUA_REGISTRYINDEX, self->base.table->function[MAX_BONUS_FUNCTION]);
    lua_rawgeti(L, LUA_REGISTRYINDEX, self->base.value);
    lua_call(L, 1, 2);
    self->max_bonus = check_bonus(L, -2, 0, "actions");
    self->max_end_bonus = check_bonus(L, -1, 1, "the end");
    return 0;
}

static rill_status create(const rill_scorer *table, rill_context *ctx, const char *arguments, void **self)
{
    rill_status status = script_instance_create(table, ctx, arguments, self);
    if (status < 0 || table->max_bonus == NULL) return status;
    const script_table *t = ((script_instance *)*self)->table;
    status = script_protect(t->script, find_max_bonus, *self);
    if (status >= 0) return status;
    if (status != RILL_ERR_MEMORY)
        rill_fail(ctx, status, "%s %s with arguments \"%s\": %s", t->declaration->word, t->name,
                  arguments != NULL ? arguments : "", rill_error(ctx));
    script_instance_destroy(*self);
    *self = NULL;
    return status;
}

static double scorer_max_bonus(const void *self, double *end)
{
    const scorer_instance *instance = self;
    *end = instance->max_end_bonus;
    return instance->max_bonus;
}

static rill_status publish(script_table *t)
{
    rill_scorer *scorer = &t->as.scorer;
    *scorer = (rill_scorer){.abi_version = RILL_ABI_VERSION,
                            .struct_size = sizeof *scorer,
                            .name = t->name,
                            .arguments = t->arguments,
                            .summary = t->summary,
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
    .mandatory = 1,
    .has_arguments = 1,
    .number_key = "state",
    .max_number = 256,
    .instance_size = sizeof(scorer_instance),
    .instance_finish = free_scorer_instance,
    .publish = publish,
};

void script_open_scorers(lua_State *L)
{
    script_view_open(L, &rows_class);
    script_declaration_open(L, &script_scorer_declaration);
}
