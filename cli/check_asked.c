/* States that are asked again; see check_asked.h.
 *
 * A state is asked in a call of its own, where no neighbours, order or number of rows can be the reason of what differs.
 *
 * Divisions: asking · what is wrong · calls that ask · other calls · life · a run. */
#include "check_asked.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check_problem.h"

/* Choices of a row that are looked at, the best; a vocabulary may have any size. */
enum { CHOICES = 4096, TIMESTEPS = 20, WIDTH = 4 };

/* What a state was asked with, and what it answered. */
typedef struct state {
    int32_t phase, parent, state_parent, action, slot, depth;
    uint64_t answer;
    int32_t n, best; /* choices, and the first of them */
    float logp;
    int known;
} state;

typedef struct hands {
    cli_check_asked *asked;
    rill_context *ctx;
    void *model, *self; /* the real ones; self: what decodes */
    state *state;       /* by node */
    size_t states;
    int64_t *input; /* by slot, its number */
    size_t inputs;
    /* Of one row. */
    int32_t most, *action;
    float *logp;
    uint8_t *terminal;
} hands;

/* --- asking ------------------------------------------------------------------------------------------------------- */

static rill_status make_room(hands *h)
{
    const int32_t actions = h->asked->info.actions;
    const size_t n = (size_t)(actions < CHOICES ? actions : CHOICES);
    h->most = (int32_t)n;
    h->action = rill_calloc(h->ctx, n, sizeof *h->action);
    h->logp = rill_calloc(h->ctx, n, sizeof *h->logp);
    h->terminal = rill_calloc(h->ctx, n, 1);
    return h->action && h->logp && h->terminal ? RILL_OK : rill_fail_memory(h->ctx, n, "choices");
}

static rill_status collected(const hands *h, const rill_rows *rows, rill_status status)
{
    return status == RILL_AGAIN ? h->asked->real->collect(h->self, rows->group) : status;
}

/* All choices of a state, which are h->action and h->logp then, and what is kept of them. */
static rill_status ask_state(hands *h, int32_t node, state *s)
{
    const rill_domain_info *info = &h->asked->info;
    const int32_t within_legal = 0;
    const rill_rows rows = {1, s->phase, &node, &s->parent, &s->state_parent, &s->action, &s->slot, &s->depth, 0};
    const rill_ask ask = {.most = h->most,
                          .legal_words = ((size_t)info->actions + 63) / 64,
                          .legal = info->legal,
                          .legal_set = info->legal ? &within_legal : NULL};
    uint8_t ends = RILL_ENDS_BY_ACTION;
    int32_t count = 0;
    rill_choices out = {h->most, &count, h->action, h->logp, &ends, h->terminal, NULL};
    rill_status status = collected(h, &rows, h->asked->real->score(h->self, &rows, &ask, &out));
    if (status < 0) return status;
    s->n = count < 0 ? 0 : count < h->most ? count : h->most;
    s->best = s->n > 0 ? h->action[0] : RILL_NO_ACTION;
    s->logp = s->n > 0 ? h->logp[0] : 0;
    s->answer = cli_check_mix((uint64_t)count, ends);
    for (int32_t i = 0; i < s->n; i++) {
        uint32_t bits;
        memcpy(&bits, &h->logp[i], sizeof bits);
        s->answer = cli_check_mix(s->answer, (uint64_t)h->action[i] << 32 | bits);
    }
    return RILL_OK;
}

/* --- what is wrong ------------------------------------------------------------------------------------------------ */

static void name_best(const hands *h, const state *s, char *out, size_t size)
{
    rill_text name = {.ctx = h->ctx};
    const rill_domain *real = h->asked->real;
    if (s->n == 0)
        rill_print(out, size, "none");
    else if (real->action_name && real->action_name(h->model, s->best, &name) == RILL_OK)
        rill_print(out, size, "%d, the best \"%.*s\" at %.9g", (int)s->n, cli_check_clip(name.data, 60), name.data,
                   (double)s->logp);
    else
        rill_print(out, size, "%d, the best action %d at %.9g", (int)s->n, (int)s->best, (double)s->logp);
    rill_text_clear(&name);
}

static void tell(const hands *h, const state *first, const state *then, const char *when, const char *reason)
{
    char one[160], two[160];
    if (h->asked->why[0]) return;
    name_best(h, first, one, sizeof one);
    name_best(h, then, two, sizeof two);
    rill_print(h->asked->why, sizeof h->asked->why,
               "input %lld at timestep %d: a state has other choices %s: %s; then %s%s: %s",
               (long long)h->input[first->slot], (int)first->depth, when, one, two,
               strcmp(one, two) ? "" : ", and others behind it", reason);
}

/* What exponentials may add up to beyond 1: floats, and thousands of them. */
#define TOLERANCE 1e-3

static void look_at_choices(const hands *h, const state *s)
{
    cli_check_asked *a = h->asked;
    double sum = 0, exponentials = 0;
    int below = 0, above = 0;
    for (int32_t i = 0; i < s->n; i++) {
        sum += (double)h->logp[i];
        exponentials += exp((double)h->logp[i]);
        below |= h->logp[i] < 0;
        above |= (double)h->logp[i] > TOLERANCE;
    }
    a->rows += s->n > 0;
    a->of_one += fabs(sum - 1) <= TOLERANCE;
    a->shares &= !below && sum <= 1 + TOLERANCE;
    a->scores |= above || exponentials > 1 + TOLERANCE;
}

/* --- calls that ask ----------------------------------------------------------------------------------------------- */

static rill_status first_asked(hands *h, const rill_rows *rows, int32_t row)
{
    state *s = &h->state[rows->node[row]], again;
    if (s->known) return RILL_OK;
    *s = (state){.phase = rows->phase,
                 .parent = rows->parent[row],
                 .state_parent = rows->state_parent[row],
                 .action = rows->action[row],
                 .slot = rows->slot[row],
                 .depth = rows->depth[row],
                 .known = 1};
    rill_status status = ask_state(h, rows->node[row], s);
    if (status < 0) return status;
    look_at_choices(h, s);
    again = *s;
    status = ask_state(h, rows->node[row], &again);
    if (status >= 0 && again.answer != s->answer)
        tell(h, s, &again, "when it is asked again",
             "score() changes what it reads, or draws from chance or a clock; a state may be asked several times");
    return status;
}

static rill_status score(void *self, const rill_rows *rows, const rill_ask *ask, rill_choices *out)
{
    hands *h = self;
    for (int32_t row = 0; row < rows->n; row++) {
        rill_status status = first_asked(h, rows, row);
        if (status < 0) return status;
    }
    return collected(h, rows, h->asked->real->score(h->self, rows, ask, out));
}

/* A parent is asked once for all of its children of the call. */
static rill_status parent_asked(hands *h, const rill_rows *rows, int32_t row)
{
    const int32_t node = rows->state_parent[row];
    if (node == RILL_NO_NODE || !h->state[node].known) return RILL_OK;
    for (int32_t i = 0; i < row; i++)
        if (rows->state_parent[i] == node) return RILL_OK;
    const state *s = &h->state[node];
    state again = *s;
    rill_status status = ask_state(h, node, &again);
    if (status >= 0 && again.answer != s->answer)
        tell(
            h, s, &again, "once children were made of it",
            "step (in Lua, advance) changes the state that it is given; it must make a new one, and copy what it takes over");
    return status;
}

static rill_status step(void *self, const rill_rows *rows)
{
    hands *h = self;
    rill_status status = h->asked->real->step(h->self, rows);
    for (int32_t row = 0; row < rows->n; row++) h->state[rows->node[row]].known = 0;
    for (int32_t row = 0; row < rows->n && status >= 0; row++) status = parent_asked(h, rows, row);
    return status;
}

/* --- other calls -------------------------------------------------------------------------------------------------- */

static rill_status reserve(void *self, int32_t nodes, int32_t slots)
{
    hands *h = self;
    rill_status status = rill_grow(h->ctx, (void **)&h->state, &h->states, (size_t)nodes, sizeof *h->state, "states");
    if (status >= 0)
        status = rill_grow(h->ctx, (void **)&h->input, &h->inputs, (size_t)slots, sizeof *h->input, "inputs");
    return status < 0 ? status : h->asked->real->reserve(h->self, nodes, slots);
}

static rill_status encode(void *self, int32_t m, rill_input *inputs)
{
    hands *h = self;
    for (int32_t i = 0; i < m; i++) h->input[inputs[i].slot] = inputs[i].id;
    return h->asked->real->encode(h->self, m, inputs);
}

static rill_status finalize(void *self, const rill_hypothesis *hypothesis, rill_text *out)
{
    const hands *h = self;
    return h->asked->real->finalize(h->self, hypothesis, out);
}

static void drop(void *self, int32_t slot)
{
    const hands *h = self;
    if (h->asked->real->drop) h->asked->real->drop(h->self, slot);
}

static void free_nodes(void *self, int32_t n, const int32_t *nodes)
{
    const hands *h = self;
    if (h->asked->real->free) h->asked->real->free(h->self, n, nodes);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static hands *make_hands(cli_check_asked *asked, rill_context *ctx)
{
    hands *h = rill_calloc(ctx, 1, sizeof *h);
    if (!h) return rill_fail_memory(ctx, sizeof *h, "what asks"), NULL;
    h->asked = asked;
    h->ctx = ctx;
    return h;
}

static void free_hands(hands *h)
{
    const size_t n = (size_t)h->most;
    rill_free(h->ctx, h->state, h->states * sizeof *h->state);
    rill_free(h->ctx, h->input, h->inputs * sizeof *h->input);
    rill_free(h->ctx, h->action, n * sizeof *h->action);
    rill_free(h->ctx, h->logp, n * sizeof *h->logp);
    rill_free(h->ctx, h->terminal, n);
    rill_free(h->ctx, h, sizeof *h);
}

static void close_asked(void *self)
{
    hands *h = self;
    if (!h) return;
    h->asked->real->close(h->model);
    free_hands(h);
}

static rill_status open_asked(const rill_domain *table, rill_context *ctx, const rill_open_options *options,
                              void **self, rill_domain_info *info)
{
    cli_check_asked *asked = (cli_check_asked *)(uintptr_t)table;
    hands *h = make_hands(asked, ctx);
    if (!h) return RILL_ERR_MEMORY;
    rill_status status = asked->real->open(asked->real, ctx, options, &h->model, info);
    if (status < 0) return free_hands(h), status;
    info->group_rows = 0;
    asked->info = *info;
    h->self = h->model;
    *self = h;
    status = make_room(h);
    if (status < 0) close_asked(h);
    return status;
}

static rill_status start(const void *model, rill_context *ctx, int threads, void **runner)
{
    const hands *m = model;
    hands *h = make_hands(m->asked, ctx);
    if (!h) return RILL_ERR_MEMORY;
    h->model = m->model;
    rill_status status = make_room(h);
    if (status >= 0) status = m->asked->real->start(m->model, ctx, threads, &h->self);
    if (status < 0) return free_hands(h), status;
    *runner = h;
    return status;
}

static void stop(void *runner)
{
    hands *h = runner;
    if (!h) return;
    h->asked->real->stop(h->self);
    free_hands(h);
}

/* --- a run -------------------------------------------------------------------------------------------------------- */

rill_status cli_check_asked_register(cli_check_asked *asked, rill_context *ctx)
{
    *asked = (cli_check_asked){.domain = {.abi_version = RILL_ABI_VERSION,
                                          .struct_size = sizeof(rill_domain),
                                          .name = CLI_CHECK_ASKED,
                                          .summary = "",
                                          .open = open_asked,
                                          .reserve = reserve,
                                          .encode = encode,
                                          .step = step,
                                          .score = score,
                                          .finalize = finalize,
                                          .drop = drop,
                                          .free = free_nodes,
                                          .close = close_asked}};
    return rill_register_domain(ctx, &asked->domain);
}

static rill_status open_real(cli_check_asked *asked, cli_session *session)
{
    const rill_workers_options crew = {.struct_size = sizeof crew, .workers = 1, .shared = &session->shared};
    const rill_domain *real = asked->real;
    rill_workers_close(session->crew);
    session->crew = NULL;
    session->model = NULL;
    asked->domain.features = real->features;
    asked->domain.options = real->options;
    asked->domain.start = rill_domain_has_runners(real) ? start : NULL;
    asked->domain.stop = rill_domain_has_runners(real) ? stop : NULL;
    rill_status status = rill_workers_open(&session->crew, session->ctx, CLI_CHECK_ASKED, &session->open, &crew);
    if (status >= 0) session->model = rill_workers_model(session->crew);
    return status;
}

/* One-hot scores and the like are told from probabilities by some row of choices that share 1 among them. */
static void look_at_all(cli_check_asked *a)
{
    if (a->info.unnormalised || !a->shares || a->of_one == 0 || a->why[0]) return;
    rill_print(
        a->why, sizeof a->why,
        "its choices look like probabilities: in %lld rows none is below 0, none adds up to more than 1, and %lld add up "
        "to 1; natural logarithms of them are wanted",
        (long long)a->rows, (long long)a->of_one);
}

int cli_check_asked_try(cli_check_asked *asked, cli_session *session, const rill_domain *real,
                        const cli_check_inputs *inputs)
{
    rill_engine_setup setup;
    cli_check_record record = {0};
    asked->real = real;
    asked->rows = asked->of_one = asked->scores = 0;
    asked->shares = 1;
    asked->why[0] = '\0';
    if (open_real(asked, session) < 0) return -1;
    rill_engine_setup_default(&setup);
    setup.settings.k = WIDTH;
    setup.settings.n = 1;
    if (asked->info.max_length > TIMESTEPS) setup.settings.max_length = TIMESTEPS;
    snprintf(setup.settings.method, sizeof setup.settings.method, "var-batch");
    rill_status status = cli_check_run(session, inputs, &setup, &record);
    cli_check_record_free(&record);
    if (status >= 0) look_at_all(asked);
    if (asked->why[0]) return 0;
    return status < 0 ? -1 : 1;
}
