/* A test plugin for `rill check`: each domain but "letters" breaks the plugin contract in one way.
 *
 * All domains are the same but for their fault. The state is the last letter. Each letter's score depends on the state
 * and on the depth. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "rill/plugin.h"
#include "support/tables.h"

enum { LETTERS = 5, END = LETTERS, ACTIONS = LETTERS + 1, LENGTH = 6 };

typedef enum fault {
    NONE,
    BY_ROWS,
    BY_NODE,
    BY_TIME,
    BY_MODEL,
    BY_THREADS,
    NAN_SCORE,
    NO_INPUT,
    BREAKS_STATE,
    SLOW,
    RETURNS_PROBABILITIES, /* returns probabilities instead of log-probabilities */
    CHANGES_PARENT,        /* writes to the parent's state when it makes a child's state */
    CHANGES_ON_SCORE,      /* returns other scores each time that it scores the same state */
} fault;

typedef struct table {
    rill_domain domain;
    fault fault;
} table;

typedef struct letters {
    rill_context *ctx;
    fault fault;
    int threads;
    int broken; /* the input "break" was encoded: every later score() fails */
    int32_t *node;
    size_t nodes;
} letters;

/* Global state, which no plugin may have: the number of open models, and of inputs encoded so far. */
static int opened, encoded;

static rill_status open_letters(const rill_domain *domain, rill_context *ctx, const rill_open_options *options,
                                void **self, rill_domain_info *info)
{
    letters *l = rill_calloc(ctx, 1, sizeof *l);
    if (l == NULL) return rill_fail_memory(ctx, sizeof *l, "letters");
    *l = (letters){.ctx = ctx, .fault = ((const table *)domain)->fault, .threads = options->threads};
    *info = (rill_domain_info){.actions = ACTIONS, .max_length = LENGTH, .has_end_action = 1, .end_action = END};
    *self = l;
    opened++;
    return RILL_OK;
}

static void close_letters(void *self)
{
    letters *l = self;
    if (l == NULL) return;
    opened--;
    rill_free(l->ctx, l->node, l->nodes * sizeof *l->node);
    rill_free(l->ctx, l, sizeof *l);
}

static rill_status reserve(void *self, int32_t nodes, int32_t slots)
{
    letters *l = self;
    (void)slots;
    return rill_grow(l->ctx, (void **)&l->node, &l->nodes, (size_t)nodes, sizeof *l->node, "nodes");
}

static rill_status encode(void *self, int32_t m, rill_input *inputs)
{
    if (((letters *)self)->fault == BY_TIME) encoded += m;
    for (int32_t i = 0; i < m && ((letters *)self)->fault == NO_INPUT; i++)
        rill_input_fail(&inputs[i], RILL_ERR_INPUT, "nothing suits it");
    for (int32_t i = 0; i < m && ((letters *)self)->fault == BREAKS_STATE; i++)
        ((letters *)self)->broken |= inputs[i].length == 5 && !memcmp(inputs[i].text, "break", 5);
    return RILL_OK;
}

static rill_status step(void *self, const rill_rows *rows)
{
    letters *l = self;
    for (int32_t i = 0; i < rows->n; i++) {
        l->node[rows->node[i]] = rows->action[i] == RILL_ACTION_START ? LETTERS : rows->action[i];
        if (l->fault == CHANGES_PARENT && rows->state_parent[i] != RILL_NO_NODE) l->node[rows->state_parent[i]]++;
    }
    return RILL_OK;
}

static float wrong(const letters *l, const rill_rows *rows, int32_t row, int32_t action)
{
    switch (l->fault) {
    case BY_ROWS: return (float)(rows->n * action % 7) / 64;
    case BY_NODE: return (float)(rows->node[row] * action % 7) / 64;
    case BY_TIME: return (float)(encoded * action % 7) / 64;
    case BY_MODEL: return (float)(opened * action) / 64;
    case BY_THREADS: return (float)(l->threads * action) / 64;
    case NAN_SCORE: return rows->depth[row] == 2 ? NAN : 0;
    default: return 0;
    }
}

static void share(float logp[ACTIONS])
{
    float sum = 0;
    for (int32_t a = 0; a < ACTIONS; a++) sum += logp[a];
    for (int32_t a = 0; a < ACTIONS; a++) logp[a] /= sum;
}

/* Writes a NaN without rill_score_result_fill(), which would leave it out. */
static rill_status score(void *self, const rill_rows *rows, const rill_score_request *request, rill_score_result *out)
{
    const letters *l = self;
    if (l->broken) return rill_fail(l->ctx, RILL_ERR_PLUGIN, "its machine is broken");
    if (l->fault == SLOW) nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    for (int32_t row = 0; row < rows->n; row++) {
        int32_t action[ACTIONS];
        float logp[ACTIONS];
        for (int32_t a = 0; a < ACTIONS; a++) {
            action[a] = a;
            logp[a] = -(float)(1 + (a * 5 + l->node[rows->node[row]] * 3 + rows->depth[row]) % 11) / 8 -
                      wrong(l, rows, row, a);
        }
        if (l->fault == RETURNS_PROBABILITIES) share(logp);
        if (l->fault == CHANGES_ON_SCORE) l->node[rows->node[row]] += rows->depth[row] == 1;
        rill_score_result_fill(request, row, ACTIONS, action, logp, NULL, out);
        if (l->fault == NAN_SCORE && rows->depth[row] == 2 && request->max_choices > 0) {
            out->count[row] = 1;
            out->action[(size_t)row * (size_t)out->stride] = 0;
            out->logp[(size_t)row * (size_t)out->stride] = NAN;
        }
    }
    return RILL_OK;
}

static rill_status finalize(void *self, const rill_hypothesis *hypothesis, rill_text *out)
{
    (void)self;
    for (int32_t i = 0; i < hypothesis->length; i++) {
        const char letter = (char)('a' + hypothesis->action[i]);
        rill_status status = hypothesis->action[i] == END ? RILL_OK : rill_text_append(out, &letter, 1);
        if (status < 0) return status;
    }
    return RILL_OK;
}

#define DOMAIN(called, how)                  \
    {                                        \
        {.abi_version = RILL_ABI_VERSION,    \
         .struct_size = sizeof(rill_domain), \
         .name = called,                     \
         .summary = "letters",               \
         .open = open_letters,               \
         .reserve = reserve,                 \
         .encode = encode,                   \
         .step = step,                       \
         .score = score,                     \
         .finalize = finalize,               \
         .close = close_letters},            \
            how                              \
    }

#ifdef FOR_SERVE /* the plugin of the server's tests; `rill check` would take too long with "slow" */
static const table tables[] = {DOMAIN("letters", NONE), DOMAIN("breaks", BREAKS_STATE), DOMAIN("slow", SLOW)};
static const rill_domain *const domains[] = {&tables[0].domain, &tables[1].domain, &tables[2].domain, NULL};
#else
static const table tables[] = {
    DOMAIN("letters", NONE),          DOMAIN("by-rows", BY_ROWS),       DOMAIN("by-node", BY_NODE),
    DOMAIN("by-time", BY_TIME),       DOMAIN("by-model", BY_MODEL),     DOMAIN("by-threads", BY_THREADS),
    DOMAIN("nan", NAN_SCORE),         DOMAIN("no-input", NO_INPUT),     DOMAIN("shares", RETURNS_PROBABILITIES),
    DOMAIN("spoils", CHANGES_PARENT), DOMAIN("wears", CHANGES_ON_SCORE)};
static const rill_domain *const domains[] = {
    &tables[0].domain, &tables[1].domain, &tables[2].domain, &tables[3].domain, &tables[4].domain,  &tables[5].domain,
    &tables[6].domain, &tables[7].domain, &tables[8].domain, &tables[9].domain, &tables[10].domain, NULL};
#endif

/* --- heuristics and scorers --------------------------------------------------------------------------------------- */

static rill_status count_calls(const rill_heuristic *h, rill_context *ctx, const char *arguments, void **self)
{
    (void)h;
    (void)arguments;
    *self = rill_calloc(ctx, 1, sizeof(rill_context *) + sizeof(int));
    if (*self == NULL) return rill_fail_memory(ctx, sizeof(rill_context *), "a counter");
    memcpy(*self, &ctx, sizeof ctx);
    return RILL_OK;
}

static void end_counting(void *self)
{
    rill_context *ctx;
    if (self == NULL) return;
    memcpy(&ctx, self, sizeof ctx);
    rill_free(ctx, self, sizeof(rill_context *) + sizeof(int));
}

static void narrow(rill_candidates *candidates, int calls)
{
    for (int32_t i = 0; i < candidates->n; i++) candidates->width[i] = 1 + calls % 3;
}

static rill_status by_instance(void *self, rill_candidates *candidates)
{
    int *calls = (int *)((char *)self + sizeof(rill_context *));
    narrow(candidates, ++*calls);
    return RILL_OK;
}

static rill_status by_variable(void *self, rill_candidates *candidates)
{
    static int calls;
    (void)self;
    narrow(candidates, ++calls);
    return RILL_OK;
}

static rill_status add_by_rows(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers)
{
    (void)self;
    return rows->n > 0 ? rill_modifiers_add(modifiers, 0, rows->n % rows->info->actions, 0.5f) : RILL_OK;
}

static rill_status choose_out_of_range(void *self, const rill_sched_view *view, int32_t *order, int32_t *count)
{
    (void)self;
    *count = view->n > 0;
    if (view->n > 0) order[0] = view->n;
    return RILL_OK;
}

static rill_status admit(void *self, const rill_sched_view *view, int32_t *count)
{
    (void)self;
    *count = view->max_items;
    return RILL_OK;
}

static const rill_heuristic counting = TEST_HEURISTIC("counting", .create = count_calls, .apply = by_instance,
                                                      .destroy = end_counting),
                            shared = TEST_HEURISTIC("shared", .apply = by_variable);
static const rill_heuristic *const heuristics[] = {&counting, &shared, NULL};

static const rill_scorer by_rows = {.abi_version = RILL_ABI_VERSION,
                                    .struct_size = sizeof by_rows,
                                    .name = "by-rows",
                                    .arguments = "",
                                    .summary = "looks at its neighbours",
                                    .score = add_by_rows};
static const rill_scorer *const scorers[] = {&by_rows, NULL};

static const rill_scheduler garbage = {.abi_version = RILL_ABI_VERSION,
                                       .struct_size = sizeof garbage,
                                       .name = "garbage",
                                       .summary = "names an item that is not there",
                                       .choose = choose_out_of_range,
                                       .refill = admit};
static const rill_scheduler *const schedulers[] = {&garbage, NULL};

RILL_API const rill_plugin_table *rill_plugin(void);

const rill_plugin_table *rill_plugin(void)
{
    static const rill_plugin_table plugin = {.abi_version = RILL_ABI_VERSION,
                                             .struct_size = sizeof plugin,
                                             .name = "check",
                                             .domains = domains,
                                             .heuristics = heuristics,
                                             .scorers = scorers,
                                             .schedulers = schedulers};
    return &plugin;
}
