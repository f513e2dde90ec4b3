/* Repeated scoring of states; see check.h. Each repeated call has one row, so that other rows cannot explain a difference. */
#include "check.h"

#include <math.h>

/* CHOICES: maximum number of a row's best choices that are compared; a vocabulary may be larger. WIDTH: beam size. */
enum { CHOICES = 4096, TIMESTEPS = 20, WIDTH = 4 };

/* The arguments and the result of a score() call for one state. */
typedef struct state {
    int32_t phase, parent, state_parent, action, slot, depth;
    uint64_t choices_hash;
    int32_t n, best; /* n: number of choices (legal actions with their scores); best: the action of the best choice */
    float logp;
    int is_known;
} state;

typedef struct rescorer {
    cli_check_rescore *rescoring;
    rill_context *ctx;
    /* the wrapped model, and its runner (one thread's decoding buffers); equal if the domain has no runners */
    void *model, *self;
    rill_arena arena; /* memory of the arrays */
    state *state;     /* [nodes] for each node (hypothesis state), the first score() call and its result */
    int64_t *input;   /* [slots] number of the input that each slot holds */
    /* Buffers for the choices of one row. */
    int32_t max_choices, *action;
    float *logp;
    uint8_t *terminal;
} rescorer;

/* --- scoring states again ----------------------------------------------------------------------------------------- */

static rill_status reserve_choices(rescorer *h)
{
    const int32_t actions = h->rescoring->info.actions;
    const size_t n = (size_t)(actions < CHOICES ? actions : CHOICES);
    h->max_choices = (int32_t)n;
    TRY(rill_arena_alloc(&h->arena, &h->action, n, sizeof *h->action, "choices"));
    TRY(rill_arena_alloc(&h->arena, &h->logp, n, sizeof *h->logp, "choices"));
    return rill_arena_alloc(&h->arena, &h->terminal, n, 1, "choices");
}

static rill_status collect_if_async(const rescorer *h, const rill_rows *rows, rill_status status)
{
    return status == RILL_AGAIN ? h->rescoring->real->collect(h->self, rows->group) : status;
}

/* Score a state. Leaves its choices in h->action and h->logp, and their hash in *s. */
static rill_status score_state(rescorer *h, int32_t node, state *s)
{
    const rill_domain_info *info = &h->rescoring->info;
    const int32_t within_legal = 0;
    const rill_rows rows = {1, s->phase, &node, &s->parent, &s->state_parent, &s->action, &s->slot, &s->depth, 0};
    const rill_score_request score_request = {.max_choices = h->max_choices,
                                              .legal_words = ((size_t)info->actions + 63) / 64,
                                              .legal = info->legal,
                                              .legal_set = info->legal ? &within_legal : NULL};
    uint8_t ends = RILL_ENDS_BY_ACTION;
    int32_t count = 0;
    rill_score_result out = {h->max_choices, &count, h->action, h->logp, &ends, h->terminal, NULL};
    TRY(collect_if_async(h, &rows, h->rescoring->real->score(h->self, &rows, &score_request, &out)));
    s->n = count < 0 ? 0 : count < h->max_choices ? count : h->max_choices;
    s->best = s->n > 0 ? h->action[0] : RILL_NO_ACTION;
    s->logp = s->n > 0 ? h->logp[0] : 0;
    s->choices_hash = cli_check_mix((uint64_t)count, ends);
    for (int32_t i = 0; i < s->n; i++) {
        uint32_t bits;
        memcpy(&bits, &h->logp[i], sizeof bits);
        s->choices_hash = cli_check_mix(s->choices_hash, (uint64_t)h->action[i] << 32 | bits);
    }
    return RILL_OK;
}

/* --- describing the differences ----------------------------------------------------------------------------------- */

static void describe_best(const rescorer *h, const state *s, char *out, size_t size)
{
    SCOPED(rill_text_clear) rill_text name = {.ctx = h->ctx};
    const rill_domain *real = h->rescoring->real;
    if (s->n == 0)
        rill_print(out, size, "none");
    else if (real->action_name && real->action_name(h->model, s->best, &name) == RILL_OK)
        rill_print(out, size, "%d, the best \"%.*s\" at %.9g", (int)s->n, cli_check_clip(name.data, 60), name.data,
                   (double)s->logp);
    else
        rill_print(out, size, "%d, the best action %d at %.9g", (int)s->n, (int)s->best, (double)s->logp);
}

static void report_difference(const rescorer *h, const state *first, const state *then, const char *when,
                              const char *reason)
{
    char one[160], two[160];
    if (h->rescoring->why[0]) return;
    describe_best(h, first, one, sizeof one);
    describe_best(h, then, two, sizeof two);
    rill_print(h->rescoring->why, sizeof h->rescoring->why,
               "input %lld at timestep %d: the choices of a state differ %s: first %s, then %s%s: %s",
               (long long)h->input[first->slot], (int)first->depth, when, one, two,
               strcmp(one, two) ? "" : ", and others after it", reason);
}

/* Tolerance of a row's sum of probabilities: a sum of thousands of floats may exceed 1 by rounding. */
#define TOLERANCE 1e-3

static void inspect_choices(const rescorer *h, const state *s)
{
    cli_check_rescore *a = h->rescoring;
    double sum = 0, exponentials = 0;
    int below = 0, above = 0;
    for (int32_t i = 0; i < s->n; i++) {
        sum += (double)h->logp[i];
        exponentials += exp((double)h->logp[i]);
        below |= h->logp[i] < 0;
        above |= (double)h->logp[i] > TOLERANCE;
    }
    a->rows += s->n > 0;
    a->normalised_rows += fabs(sum - 1) <= TOLERANCE;
    a->maybe_probs &= !below && sum <= 1 + TOLERANCE;
    a->not_logprobs |= above || exponentials > 1 + TOLERANCE;
}

/* --- calls that are checked --------------------------------------------------------------------------------------- */

static rill_status check_new_state(rescorer *h, const rill_rows *rows, int32_t row)
{
    state *s = &h->state[rows->node[row]], again;
    if (s->is_known) return RILL_OK;
    *s = (state){.phase = rows->phase,
                 .parent = rows->parent[row],
                 .state_parent = rows->state_parent[row],
                 .action = rows->action[row],
                 .slot = rows->slot[row],
                 .depth = rows->depth[row],
                 .is_known = 1};
    TRY(score_state(h, rows->node[row], s));
    inspect_choices(h, s);
    again = *s;
    TRY(score_state(h, rows->node[row], &again));
    if (again.choices_hash != s->choices_hash)
        report_difference(
            h, s, &again, "when it is called again",
            "score() changes data that it reads, or uses random numbers or a clock; it may be called several times "
            "with one state");
    return RILL_OK;
}

static rill_status score(void *self, const rill_rows *rows, const rill_score_request *score_request,
                         rill_score_result *out)
{
    rescorer *h = self;
    for (int32_t row = 0; row < rows->n; row++) TRY(check_new_state(h, rows, row));
    return collect_if_async(h, rows, h->rescoring->real->score(h->self, rows, score_request, out));
}

/* Score a row's parent again after step() has computed its children. If several rows have one parent, only the first row scores it. */
static rill_status check_parent(rescorer *h, const rill_rows *rows, int32_t row)
{
    const int32_t node = rows->state_parent[row];
    if (node == RILL_NO_NODE || !h->state[node].is_known) return RILL_OK;
    for (int32_t i = 0; i < row; i++)
        if (rows->state_parent[i] == node) return RILL_OK;
    const state *s = &h->state[node];
    state again = *s;
    TRY(score_state(h, node, &again));
    if (again.choices_hash != s->choices_hash)
        report_difference(
            h, s, &again, "after its children were made",
            "step (in Lua, advance) changes the parent's state; it must make a new state and copy the parent's data");
    return RILL_OK;
}

static rill_status step(void *self, const rill_rows *rows)
{
    rescorer *h = self;
    rill_status status = h->rescoring->real->step(h->self, rows);
    for (int32_t row = 0; row < rows->n; row++) h->state[rows->node[row]].is_known = 0;
    for (int32_t row = 0; row < rows->n && status >= 0; row++) status = check_parent(h, rows, row);
    return status;
}

/* --- calls that are only forwarded -------------------------------------------------------------------------------- */

static rill_status reserve(void *self, int32_t nodes, int32_t slots)
{
    rescorer *h = self;
    TRY(GROW(&h->arena, h->state, (size_t)nodes, "states"));
    TRY(GROW(&h->arena, h->input, (size_t)slots, "inputs"));
    return h->rescoring->real->reserve(h->self, nodes, slots);
}

static rill_status encode(void *self, int32_t m, rill_input *inputs)
{
    rescorer *h = self;
    for (int32_t i = 0; i < m; i++) h->input[inputs[i].slot] = inputs[i].id;
    return h->rescoring->real->encode(h->self, m, inputs);
}

static rill_status finalize(void *self, const rill_hypothesis *hypothesis, rill_text *out)
{
    const rescorer *h = self;
    return h->rescoring->real->finalize(h->self, hypothesis, out);
}

static void drop(void *self, int32_t slot)
{
    const rescorer *h = self;
    if (h->rescoring->real->drop) h->rescoring->real->drop(h->self, slot);
}

static void free_nodes(void *self, int32_t n, const int32_t *nodes)
{
    const rescorer *h = self;
    if (h->rescoring->real->free) h->rescoring->real->free(h->self, n, nodes);
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

static void close_rescorer(void *self)
{
    rescorer *h = self;
    if (!h) return;
    const rill_domain *real = h->rescoring->real;
    if (h->self != h->model) real->stop(h->self);
    if (h->model) real->close(h->model);
    rill_arena_clear(&h->arena);
    rill_free(h->ctx, h, sizeof *h);
}

/* Open a model, and a runner if the domain has runners. The wrapping domain has none, because one engine uses the model. */
static rill_status open_rescorer(const rill_domain *table, rill_context *ctx, const rill_open_options *options,
                                 void **self, rill_domain_info *info)
{
    cli_check_rescore *rescoring = (cli_check_rescore *)(uintptr_t)table;
    const rill_domain *real = rescoring->real;
    void *model = NULL, *runner = NULL;
    rescorer *h = rill_calloc(ctx, 1, sizeof *h);
    if (!h) return rill_fail_memory(ctx, sizeof *h, "a model");
    *h = (rescorer){.rescoring = rescoring, .ctx = ctx, .arena.ctx = ctx};
    rill_status status = real->open(real, ctx, options, &model, info);
    if (status >= 0) {
        h->model = h->self = model;
        info->group_rows = 0;
        rescoring->info = *info;
        status = reserve_choices(h);
    }
    if (status >= 0 && rill_domain_has_runners(real)) {
        status = real->start(model, ctx, 1, &runner);
        if (status >= 0) h->self = runner;
    }
    if (status < 0) return close_rescorer(h), status;
    *self = h;
    return status;
}

/* --- a run of the engine ------------------------------------------------------------------------------------------ */

rill_status cli_check_rescore_register(cli_check_rescore *rescoring, rill_context *ctx)
{
    *rescoring = (cli_check_rescore){.domain = {.abi_version = RILL_ABI_VERSION,
                                                .struct_size = sizeof(rill_domain),
                                                .name = CLI_CHECK_RESCORE,
                                                .summary = "",
                                                .open = open_rescorer,
                                                .reserve = reserve,
                                                .encode = encode,
                                                .step = step,
                                                .score = score,
                                                .finalize = finalize,
                                                .drop = drop,
                                                .free = free_nodes,
                                                .close = close_rescorer}};
    return rill_register_domain(ctx, &rescoring->domain);
}

static rill_status open_wrapped_model(cli_check_rescore *rescoring, cli_session *session)
{
    const rill_workers_options workers_options = {
        .struct_size = sizeof workers_options, .workers = 1, .shared = &session->builtin_mark};
    cli_session_close(session);
    rescoring->domain.features = rescoring->real->features;
    rescoring->domain.options = rescoring->real->options;
    rill_status status = rill_workers_open(&session->worker_pool, session->ctx, CLI_CHECK_RESCORE, &session->open,
                                           &workers_options);
    if (status >= 0) session->model = rill_workers_model(session->worker_pool);
    return status;
}

/* Report scores that look like probabilities: all between 0 and 1, and some row sums to 1. (A forced choice has log-probability 0.) */
static void inspect_all_choices(cli_check_rescore *a)
{
    if (a->info.unnormalised || !a->maybe_probs || a->normalised_rows == 0 || a->why[0]) return;
    rill_print(
        a->why, sizeof a->why,
        "its choices look like probabilities (in %lld rows all are from 0 to 1, and %lld rows sum to 1): natural "
        "logarithms are expected",
        (long long)a->rows, (long long)a->normalised_rows);
}

int cli_check_rescore_run(cli_check_rescore *rescoring, cli_session *session, const rill_domain *real,
                          const cli_check_inputs *inputs)
{
    rill_engine_setup setup;
    SCOPED(cli_check_record_free) cli_check_record record = {0};
    rescoring->real = real;
    rescoring->rows = rescoring->normalised_rows = rescoring->not_logprobs = 0;
    rescoring->maybe_probs = 1;
    rescoring->why[0] = '\0';
    if (open_wrapped_model(rescoring, session) < 0) return -1;
    rill_engine_setup_default(&setup);
    setup.settings.k = WIDTH;
    setup.settings.n = 1;
    if (rescoring->info.max_length > TIMESTEPS) setup.settings.max_length = TIMESTEPS;
    snprintf(setup.settings.method, sizeof setup.settings.method, "var-batch");
    rill_status status = cli_check_run(session, inputs, &setup, &record);
    if (status >= 0) inspect_all_choices(rescoring);
    if (rescoring->why[0]) return 0;
    return status < 0 ? -1 : 1;
}
