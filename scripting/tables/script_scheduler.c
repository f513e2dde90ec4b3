/* Schedulers and budget functions (option max-batch-hypotheses) written in Lua. Their argument `f` is a view of the items in flight.
 *
 * The engine overrules a scheduler where needed (scheduler.h). Here indexes are checked, and numbers for NaN. */
#include <math.h>
#include <stdio.h>

#include "tables.h"

enum { CHOOSE, REFILL, ENCODE_AHEAD };

typedef struct scheduler_instance {
    script_instance base;
    script_late failed; /* failure in encode_ahead(), which cannot return a status */
} scheduler_instance;

/* --- fields of the view ------------------------------------------------------------------------------------------- */

#define MEMBER(member) offsetof(rill_sched_view, member)
static const script_view_field fields[] = {
    {.name = "n", .kind = VIEW_INT32, .offset = MEMBER(n)},
    {.name = "item_id", .kind = VIEW_ARRAY, .offset = MEMBER(item_id), .type = ARRAY_I64},
    {.name = "timestep", .kind = VIEW_ARRAY, .offset = MEMBER(timestep), .type = ARRAY_I32},
    {.name = "width", .kind = VIEW_ARRAY, .offset = MEMBER(width), .type = ARRAY_I32},
    {.name = "size", .kind = VIEW_ARRAY, .offset = MEMBER(size), .type = ARRAY_I64},
    {.name = "refill_index", .kind = VIEW_ARRAY, .offset = MEMBER(refill_index), .type = ARRAY_I64},
    {.name = "batch", .kind = VIEW_INT32, .offset = MEMBER(batch)},
    {.name = "k", .kind = VIEW_INT32, .offset = MEMBER(k)},
    {.name = "max_items", .kind = VIEW_INT32, .offset = MEMBER(max_items)},
    {.name = "budget", .kind = VIEW_INT32, .offset = MEMBER(budget)},
    {.name = "refill", .kind = VIEW_DOUBLE, .offset = MEMBER(refill)},
    {.name = "waiting", .kind = VIEW_INT64, .offset = MEMBER(waiting)},
    {.name = "timesteps", .kind = VIEW_INT64, .offset = MEMBER(timesteps)},
    {.name = NULL}};
#undef MEMBER

const script_view_class script_sched_view_class = {"sched_view", "f", fields, NULL, offsetof(rill_sched_view, n)};

/* --- reading the script's results ------------------------------------------------------------------------------------ */

typedef struct order {
    int32_t n; /* number of inputs in flight; the script's choose() returns indexes of these */
    int32_t *index;
    int32_t count;
} order;

/* Read the indexes of inputs that choose() returned, in a table or an array. */
static void take_order(lua_State *L, void *out)
{
    order *o = out;
    double local[ARRAY_LOCAL];
    const double *index = NULL; /* the elements of an array; NULL: choose() returned a table */
    lua_Unsigned count = 0;
    if (script_array_is(L, -1)) {
        const array *a = array_check(L, script_from_lua(L), -1);
        index = array_doubles(L, a, local);
        count = (lua_Unsigned)a->n;
    } else if (lua_istable(L, -1)) {
        count = lua_rawlen(L, -1);
    } else {
        luaL_error(L, "choose returned a %s: a table or array of item indexes, most preferred first, was expected",
                   luaL_typename(L, -1));
    }
    if (count > (lua_Unsigned)o->n)
        luaL_error(L, "choose returned %I indexes for %d items", (LUAI_UACINT)count, (int)o->n);
    for (; o->count < (int32_t)count; lua_pop(L, 1)) {
        lua_Integer x;
        if (index != NULL)
            lua_pushnumber(L, index[o->count]);
        else
            lua_rawgeti(L, -1, o->count + 1);
        if (!script_whole_number(L, -1, 1, o->n, &x))
            luaL_error(L, "choose returned %s: an index is a whole number in 1..%d", luaL_tolstring(L, -1, NULL),
                       (int)o->n);
        o->index[o->count++] = (int32_t)x - 1;
    }
}

typedef struct amount {
    const char *word;
    double value;
    int is_given; /* 1: the function returned a number; 0: it returned nil */
} amount;

static void take_amount(lua_State *L, void *out)
{
    amount *a = out;
    a->is_given = lua_type(L, -1) == LUA_TNUMBER;
    if (a->is_given) a->value = lua_tonumber(L, -1);
    if (!a->is_given && !lua_isnil(L, -1))
        luaL_error(L, "%s returned a %s: a number was expected", a->word, luaL_typename(L, -1));
    if (a->is_given && isnan(a->value)) luaL_error(L, "%s returned NaN", a->word);
}

static void take_needed_amount(lua_State *L, void *out)
{
    take_amount(L, out);
    if (!((amount *)out)->is_given) luaL_error(L, "%s returned nothing: a number was expected", ((amount *)out)->word);
}

static int32_t clamp(double x)
{
    return x < 0 ? 0 : x < INT32_MAX ? (int32_t)x : INT32_MAX;
}

/* --- calling a scheduler ------------------------------------------------------------------------------------------ */

/* Add the function's name and position, and the number of items in flight, to a failed call's message. For an invalid result the traceback
 * lacks the position. */
static rill_status fail_scheduler_call(const script_instance *self, rill_status status, int which,
                                       const rill_sched_view *f)
{
    const script_table *t = self->table;
    rill_context *ctx = t->script->ctx;
    lua_Debug place;
    char inputs[120] = "";
    lua_rawgeti(t->script->L, LUA_REGISTRYINDEX, t->function[which]);
    lua_getinfo(t->script->L, ">S", &place);
    if (f->n > 0)
        snprintf(inputs, sizeof inputs, ", the first is input %lld (line %lld)", (long long)f->item_id[0],
                 (long long)f->item_id[0] + 1);
    return rill_fail(ctx, status, "%s %s, %s() of %s:%d with %d items in flight%s: %s", t->declaration->word, t->name,
                     t->declaration->functions[which], place.short_src, place.linedefined, f->n, inputs,
                     rill_error(ctx));
}

static rill_status call_script_scheduler(const script_instance *self, int which, const rill_sched_view *f,
                                         void (*take)(lua_State *L, void *out), void *out)
{
    rill_script *s = self->table->script;
    script_frame frame = script_begin(s, NULL, 0);
    rill_status status = script_instance_call(self, which, &script_sched_view_class, (void *)f, NULL, take, out);
    script_end(s, frame);
    return status < 0 ? fail_scheduler_call(self, status, which, f) : RILL_OK;
}

static rill_status fail_late(scheduler_instance *self)
{
    /* keep the status too, so that every later call fails with it */
    return self->failed.status = script_late_take(&self->failed, self->base.table->script->ctx);
}

static rill_status choose(void *self, const rill_sched_view *f, int32_t *index, int32_t *count)
{
    order o = {f->n, index, 0};
    rill_status status = fail_late(self);
    if (status == RILL_OK) status = call_script_scheduler(self, CHOOSE, f, take_order, &o);
    *count = o.count;
    return status;
}

static rill_status refill(void *self, const rill_sched_view *f, int32_t *admit)
{
    amount a = {"refill", 0, 0};
    rill_status status = fail_late(self);
    if (status == RILL_OK) status = call_script_scheduler(self, REFILL, f, take_needed_amount, &a);
    *admit = clamp(a.value);
    return status;
}

rill_status script_default_refill(void *self, const rill_sched_view *f, int32_t *admit)
{
    (void)self;
    *admit = f->n <= f->refill * f->max_items ? f->max_items - f->n : 0;
    return RILL_OK;
}

static int32_t encode_ahead(void *self, const rill_sched_view *f)
{
    amount a = {"encode_ahead", 0, 0};
    scheduler_instance *p = self;
    if (p->failed.status < 0) return 0;
    script_late_keep(&p->failed, p->base.table->script->ctx,
                     call_script_scheduler(&p->base, ENCODE_AHEAD, f, take_needed_amount, &a));
    return clamp(a.value);
}

/* --- calling a budget function ------------------------------------------------------------------------------------ */

static const script_declaration budget_declaration = {
    .kind = SCRIPT_SCHEDULER, /* any kind will do, since a budget function is never registered */
    .word = "budget",
    .functions = {"budget"},
    .instance_size = sizeof(script_instance),
};

/* Call a script's budget function. A result between 0 and 1 counts as 1, because 0 means no limit. A negative one fails here, where the
 * position is known. */
static rill_status call_budget(void *user, const rill_sched_view *f, int32_t *budget)
{
    amount a = {"the budget function", 0, 0};
    rill_status status = call_script_scheduler(user, 0, f, take_amount, &a);
    if (status < 0 || !a.is_given) return status;
    if (a.value < 0) {
        const script_instance *self = user;
        status = rill_fail(self->table->script->ctx, RILL_ERR_PLUGIN,
                           "%s returned %g: at least 1, or 0 for no limit, was expected", a.word, a.value);
        return fail_scheduler_call(self, status, 0, f);
    }
    if (a.value > 0 && a.value < 1) a.value = 1;
    *budget = isinf(a.value) ? 0 : clamp(a.value);
    return RILL_OK;
}

void script_budget_create(lua_State *L, int index, rill_budget_fn *fn, void **user)
{
    *fn = call_budget;
    *user = script_function_make(L, index, &budget_declaration);
}

/* --- declaring schedulers ----------------------------------------------------------------------------------------- */

SCRIPT_CREATE(create, rill_scheduler, script_instance_create)

static rill_status publish(script_table *t)
{
    rill_scheduler *p = &t->as.scheduler;
    *p = (rill_scheduler){SCRIPT_PLUGIN(rill_scheduler, t),
                          .create = create,
                          .choose = choose,
                          .refill = t->function[REFILL] != LUA_NOREF ? refill : script_default_refill,
                          .encode_ahead = t->function[ENCODE_AHEAD] != LUA_NOREF ? encode_ahead : NULL,
                          .destroy = script_instance_destroy,
                          .overdue_first = t->number};
    return rill_register_scheduler(t->script->ctx, p);
}

const script_declaration script_scheduler_declaration = {
    .kind = SCRIPT_SCHEDULER,
    .word = "scheduler",
    .functions = {"choose", "refill", "encode_ahead"},
    .number_key = "overdue_first",
    .max_number = 1,
    .instance_size = sizeof(scheduler_instance),
    .publish = publish,
};

void script_open_schedulers(lua_State *L)
{
    script_view_open(L, &script_sched_view_class);
    script_declaration_open(L, &script_scheduler_declaration);
}
