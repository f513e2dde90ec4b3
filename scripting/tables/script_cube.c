/* Hypothesis classes for cube pruning, by a Lua function: the option cube_key. Its argument `h` is a view of the
 * hypotheses.
 *
 * The engine calls the function once per timestep and phase with all live hypotheses. It returns a number for each;
 * hypotheses with equal numbers are one class. */
#include <math.h>
#include <string.h>

#include "arrays/array.h"
#include "script_scorer.h"

/* --- fields ------------------------------------------------------------------------------------------------------- */

enum { SIZE, PHASE, ITEM_ID, TIMESTEP, RANK, PATH_SCORE, LAST };

static const char *const fields[] = {"size", "phase", "item_id", "timestep", "rank", "path_score", "last", NULL};

static void read_field(lua_State *L, const script_view *view, int field)
{
    const rill_scorer_rows *rows = ((const scorer_call *)view->data)->rows;
    switch (field) {
    case SIZE: lua_pushinteger(L, rows->n); break;
    case PHASE: lua_pushinteger(L, rows->phase); break;
    case ITEM_ID: script_array_push(L, ARRAY_I64, rows->item_id, rows->n, ARRAY_PLAIN, 0); break;
    case TIMESTEP: script_array_push(L, ARRAY_I32, rows->timestep, rows->n, ARRAY_PLAIN, 0); break;
    case RANK: script_array_push(L, ARRAY_I32, rows->rank, rows->n, ARRAY_PLAIN, 0); break;
    case PATH_SCORE: script_array_push(L, ARRAY_F64, rows->path_score, rows->n, ARRAY_PLAIN, 0); break;
    case LAST: scorer_push_previous(L, rows, 0, ARRAY_PLAIN); break;
    }
}

static int previous(lua_State *L)
{
    const lua_Integer back = luaL_checkinteger(L, 2);
    luaL_argcheck(L, back >= 0, 2, "at least 0 expected");
    scorer_push_previous(L, scorer_self(L)->rows, back, ARRAY_PLAIN);
    return 1;
}

static const luaL_Reg methods[] = {{"history", scorer_history}, {"previous", previous}, {NULL, NULL}};

static const script_view_class hypotheses_class = {"hypotheses", fields, methods, read_field, NULL};

/* --- the call ----------------------------------------------------------------------------------------------------- */

typedef struct cube_keys {
    int32_t n;
    int64_t *key;
} cube_keys;

/* Return the bits of x as a key. Equal numbers get equal keys: -0 becomes 0. */
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
    scorer_call call = {NULL, rows, NULL, 0};
    if (rows->n == 0) return RILL_OK;
    script_frame frame = script_begin(s, NULL, 0);
    rill_status status = script_instance_call(self, 0, &hypotheses_class, &call, take_keys, &(cube_keys){rows->n, key});
    script_end(s, frame);
    if (status >= 0) return RILL_OK;
    return rill_fail(s->ctx, status, "options.cube_key, in a timestep whose first is input %lld (line %lld): %s",
                     (long long)rows->item_id[0], (long long)rows->item_id[0] + 1, rill_error(s->ctx));
}

/* --- making ------------------------------------------------------------------------------------------------------- */

static const script_declaration key_declaration = {
    .kind = SCRIPT_SCORER, /* any kind: this declaration is never registered */
    .word = "cube_key",
    .functions = {"cube_key"},
    .instance_size = sizeof(script_instance),
};

rill_status script_cube_key_create(lua_State *L, int index, rill_key_fn *fn, void **user)
{
    *fn = call_cube_key;
    return script_function_make(L, index, &key_declaration, user);
}

void script_open_cube(lua_State *L)
{
    script_view_open(L, &hypotheses_class);
}
