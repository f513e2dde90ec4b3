/* Heuristics written in Lua: rill.heuristic{}. Their argument `b` is a view of the engine's rill_candidates, with arrays over its memory.
 *
 * The script is called once per timestep, for all items. Nonzero values in keep and stop become 1; a negative width is an error. */
#include "tables.h"

/* --- fields of the view -------------------------------------------------------------------------------------------- */

static int32_t n_candidates(const rill_candidates *b)
{
    return b->offset[b->n];
}

#define ITEMS(member, type) VIEW_ARRAY, offsetof(rill_candidates, member), type, ARRAY_ITEMS, ARRAY_READ_ONLY, NULL
#define CELLS(member, type) VIEW_ARRAY, offsetof(rill_candidates, member), type, ARRAY_CELLS, ARRAY_READ_ONLY, NULL
static const script_view_field fields[] = {
    {.name = "n", .kind = VIEW_ITEMS},
    {.name = "size", .kind = VIEW_CELLS},
    {.name = "phase", .kind = VIEW_INT32, .offset = offsetof(rill_candidates, phase)},
    {"item_id", ITEMS(item_id, ARRAY_I64)},
    {"k", ITEMS(k, ARRAY_I32)},
    {"timestep", ITEMS(timestep, ARRAY_I32)},
    {"outputs", ITEMS(outputs, ARRAY_I32)},
    {"best_output", ITEMS(best_output_score, ARRAY_F64)},
    {"best", ITEMS(best_path_score, ARRAY_F64)},
    {"path_score", CELLS(path_score, ARRAY_F64)},
    {"action_logp", CELLS(action_logp, ARRAY_F32)},
    {"parent_rank", CELLS(parent_rank, ARRAY_I32)},
    {"action", CELLS(action, ARRAY_I32)},
    {"ended", CELLS(ended, ARRAY_U8)},
    {"keep", VIEW_ARRAY, offsetof(rill_candidates, keep), ARRAY_U8, ARRAY_CELLS, ARRAY_MARKS, NULL},
    {"width", VIEW_ARRAY, offsetof(rill_candidates, width), ARRAY_I32, ARRAY_ITEMS, ARRAY_MARKS, NULL},
    {"stop", VIEW_ARRAY, offsetof(rill_candidates, stop), ARRAY_U8, ARRAY_ITEMS, ARRAY_MARKS, NULL},
    {.name = NULL}};
#undef ITEMS
#undef CELLS

/* --- methods of the view ------------------------------------------------------------------------------------------ */

/* Raise if the argument of the method is missing: first of all, before something else is pushed to its stack index 2. */
static void require_value(lua_State *L)
{
    luaL_argcheck(L, !lua_isnone(L, 2), 2, "a number, a boolean or an array expected, got no value");
}

/* Return the value at stack index 2 as a mask of n elements, valid while the value is on the stack. */
static const uint8_t *read_mask(lua_State *L, int32_t n, array_level level, const char *name)
{
    require_value(L);
    uint8_t *mask = lua_newuserdatauv(L, (size_t)n, 0);
    script_array_store(L, 2, ARRAY_U8, mask, n, level, name);
    return mask;
}

static int method_drop(lua_State *L)
{
    const rill_candidates *b = script_view_self(L)->data;
    const uint8_t *mask = read_mask(L, n_candidates(b), ARRAY_CELLS, "the mask of b:drop()");
    for (int32_t i = 0; i < n_candidates(b); i++) b->keep[i] &= !mask[i];
    return 0;
}

static int method_halt(lua_State *L)
{
    const rill_candidates *b = script_view_self(L)->data;
    const uint8_t *mask = read_mask(L, b->n, ARRAY_ITEMS, "the mask of b:halt()");
    for (int32_t i = 0; i < b->n; i++) b->stop[i] |= mask[i];
    return 0;
}

static int method_narrow(lua_State *L)
{
    const rill_candidates *b = script_view_self(L)->data;
    require_value(L);
    int32_t *width = lua_newuserdatauv(L, (size_t)b->n * sizeof *width, 0);
    script_array_store(L, 2, ARRAY_I32, width, b->n, ARRAY_ITEMS, NULL);
    for (int32_t i = 0; i < b->n; i++)
        if (width[i] < b->width[i]) b->width[i] = width[i] > 0 ? width[i] : 0;
    return 0;
}

static const script_view_method methods[] = {{"range", script_view_range, 0},
                                             {"drop", method_drop, 0},
                                             {"narrow", method_narrow, 0},
                                             {"halt", method_halt, 0},
                                             {NULL, NULL, 0}};

const script_view_class script_candidates_class = {"candidates", "b", fields, methods, 0};

/* --- calling a heuristic ------------------------------------------------------------------------------------------ */

/* Check that no width is negative. Assignments by scripts are checked at once, but a native function may have written any value. */
static rill_status check_widths(const script_instance *self, const rill_candidates *b)
{
    const rill_script *s = self->table->script;
    for (int32_t i = 0; i < b->n; i++)
        if (b->width[i] < 0)
            return rill_fail(s->ctx, RILL_ERR_PLUGIN, "%s: b.width is %d after the call: a width must be 0 or more",
                             s->path, (int)b->width[i]);
    return RILL_OK;
}

static void normalise_marks(rill_candidates *b)
{
    int32_t size = n_candidates(b);
    for (int32_t i = 0; i < size; i++) b->keep[i] = b->keep[i] != 0;
    for (int32_t i = 0; i < b->n; i++) b->stop[i] = b->stop[i] != 0;
}

static rill_status call_script(const script_instance *self, rill_candidates *b)
{
    rill_script *s = self->table->script;
    script_frame frame = script_begin(s, b->offset, b->n);
    rill_status status = script_instance_call(self, 0, &script_candidates_class, b, NULL, script_refuse_array,
                                              (void *)"assign the marks, as in b.keep = mask");
    script_end(s, frame);
    return status == RILL_OK ? check_widths(self, b) : status;
}

typedef struct failed_call {
    const script_instance *self;
    const rill_candidates *candidates;
} failed_call;

/* Repeat the script's call for input i alone, to find the input that fails. Its marks are irrelevant, because the run ends. */
static rill_status call_script_for_item(void *user, int32_t i, int64_t *id)
{
    const failed_call *c = user;
    rill_candidates one = *c->candidates;
    int32_t first = one.offset[i], offset[2] = {0, one.offset[i + 1] - first};
    *id = one.item_id[i];
    one.n = 1;
    one.offset = offset;
    script_view_advance(&script_candidates_class, &one, i, first);
    return call_script(c->self, &one);
}

static rill_status apply(void *self, rill_candidates *b)
{
    if (b->n == 0) return RILL_OK;
    rill_status status = call_script(self, b);
    if (status < 0) {
        failed_call c = {self, b};
        return script_locate_error(self, status, b->n, b->item_id[0], call_script_for_item, &c);
    }
    normalise_marks(b);
    return RILL_OK;
}

/* --- declaring heuristics ----------------------------------------------------------------------------------------- */

SCRIPT_CREATE(create, rill_heuristic, script_instance_create)

static rill_status publish(script_table *t)
{
    rill_heuristic *h = &t->as.heuristic;
    *h = (rill_heuristic){SCRIPT_PLUGIN(rill_heuristic, t), .arguments = t->arguments, .create = create, .apply = apply,
                          .destroy = script_instance_destroy};
    return rill_register_heuristic(t->script->ctx, h);
}

const script_declaration script_heuristic_declaration = {
    .kind = SCRIPT_HEURISTIC,
    .word = "heuristic",
    .functions = {"apply"},
    .has_arguments = 1,
    .instance_size = sizeof(script_instance),
    .publish = publish,
};

void script_open_heuristics(lua_State *L)
{
    script_view_open(L, &script_candidates_class);
    script_declaration_open(L, &script_heuristic_declaration);
}
