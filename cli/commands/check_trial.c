/* Rounds of `rill check`; see check.h.
 *
 * The reference run decodes one input at a time. Other runs repeat it, or use other batch sizes, budgets and methods. */
#include "check.h"

const char *const cli_check_kind_names[] = {"domain", "heuristic", "scorer", "scheduler"};

#define ONE_AT_A_TIME "it must use one input at a time and keep no state"

static const char *const schedule_reasons[] = {
    [CLI_CHECK_DOMAIN] =
        "a row's result depends on other rows of the call, on their number or order, or on its node or slot "
        "number; it may depend on the row alone (rill/domain.h)",
    [CLI_CHECK_HEURISTIC] = "its marks depend on other inputs in flight; " ONE_AT_A_TIME,
    [CLI_CHECK_SCORER] = "its modifiers depend on other inputs in flight; " ONE_AT_A_TIME,
    [CLI_CHECK_SCHEDULER] = "results depend on the schedule: the cause is in the domain, a heuristic or a scorer",
};
static const char repeat_reason[] =
    "two equal runs differ: it keeps state in a variable that its instances share, or uses random numbers or a clock";
static const char domain_repeat_reason[] =
    "two equal runs on one model differ: it keeps data of finished inputs, reads uninitialised memory, or uses "
    "random numbers or a clock";
static const char instance_reason[] =
    "an instance gives other results for the same inputs in a second run: it keeps state; each call has all data "
    "of its inputs";

/* --- an instance shared by runs ---------------------------------------------------------------------------------------- */

/* create() of the registered tables: it allocates nothing and returns the shared instance. */
static rill_status get_heuristic(const rill_heuristic *table, rill_context *ctx, const char *arguments, void **self)
{
    (void)ctx, (void)arguments;
    *self = ((const cli_check_instance *)(const void *)((const char *)table - offsetof(cli_check_instance, heuristic)))
                ->self;
    return RILL_OK;
}

static rill_status get_scorer(const rill_scorer *table, rill_context *ctx, const char *arguments, void **self)
{
    (void)ctx, (void)arguments;
    *self =
        ((const cli_check_instance *)(const void *)((const char *)table - offsetof(cli_check_instance, scorer)))->self;
    return RILL_OK;
}

/* Make the registered heuristic a copy of `real` that shares one instance of it. Returns what create() returns. */
static rill_status share_heuristic(cli_check_instance *instance, rill_context *ctx, const rill_heuristic *real,
                                   const char *arguments)
{
    instance->heuristic = *real;
    instance->heuristic.name = CLI_CHECK_INSTANCE;
    instance->heuristic.struct_size = sizeof instance->heuristic;
    instance->heuristic.create = get_heuristic;
    instance->heuristic.destroy = NULL;
    instance->destroy = real->destroy;
    return real->create ? real->create(real, ctx, arguments, &instance->self) : RILL_OK;
}

static rill_status share_scorer(cli_check_instance *instance, rill_context *ctx, const rill_scorer *real,
                                const char *arguments)
{
    instance->scorer = *real;
    instance->scorer.name = CLI_CHECK_INSTANCE;
    instance->scorer.struct_size = sizeof instance->scorer;
    instance->scorer.create = get_scorer;
    instance->scorer.destroy = NULL;
    instance->destroy = real->destroy;
    return real->create ? real->create(real, ctx, arguments, &instance->self) : RILL_OK;
}

rill_status cli_check_instance_register(cli_check_instance *instance, rill_context *ctx)
{
    /* placeholders, the first built-in ones, until share_heuristic() and share_scorer() replace them */
    instance->heuristic = *rill_heuristic_at(ctx, 0);
    instance->scorer = *rill_scorer_at(ctx, 0);
    instance->heuristic.name = instance->scorer.name = CLI_CHECK_INSTANCE;
    const rill_status status = rill_register_heuristic(ctx, &instance->heuristic);
    return status < 0 ? status : rill_register_scorer(ctx, &instance->scorer);
}

/* --- drawing random settings -------------------------------------------------------------------------------------- */

/* maximum length of outputs, in actions (tokens): short outputs are enough to show an error */
enum { CHECK_MAX_LENGTH = 60 };

static void draw_search(cli_check_trial *t, uint64_t seed)
{
    static const double penalty[] = {0, 0, 1, 0.6};
    rill_settings *s = &t->setup.settings;
    rill_engine_setup_default(&t->setup);
    s->k = 2 + (int32_t)(seed % 5);
    s->n_best = s->k;
    s->length_penalty = penalty[seed / 5 % 4];
    s->max_candidates = seed / 20 % 2 ? 1 + (int32_t)(seed / 40 % (uint64_t)s->k) : 0;
    if (rill_model_info(t->session->model)->max_length > CHECK_MAX_LENGTH) s->max_length = CHECK_MAX_LENGTH;
    s->n = 1;
    snprintf(s->method, sizeof s->method, "var-batch");
    t->entry = (rill_chain_entry){t->name, t->arguments};
    if (t->kind == CLI_CHECK_HEURISTIC) t->setup.heuristics = &t->entry;
    if (t->kind == CLI_CHECK_SCORER) t->setup.scorers = &t->entry;
    t->setup.n_heuristics = t->kind == CLI_CHECK_HEURISTIC;
    t->setup.n_scorers = t->kind == CLI_CHECK_SCORER;
    if (t->kind == CLI_CHECK_HEURISTIC || seed / 400 % 3 == 0) return;
    /* Pruning makes the number of hypotheses of an input vary more from timestep to timestep. */
    snprintf(t->pruning_arguments, sizeof t->pruning_arguments, "%d", 1 + (int)(seed / 1200 % 6));
    t->pruning = (rill_chain_entry){"absolute", t->pruning_arguments};
    t->setup.heuristics = &t->pruning;
    t->setup.n_heuristics = 1;
}

static void set_method(rill_engine_setup *setup, const rill_method_info *m)
{
    rill_settings *s = &setup->settings;
    snprintf(s->method, sizeof s->method, "%s", m->name);
    if (m->pruned) return;
    setup->n_heuristics = 0;
    s->max_candidates = 0;
    if (m->greedy) s->k = 0;
}

enum { PLAIN, BUDGETED, FLUSHED, FORMS };

static void draw_schedule(rill_settings *s, const rill_method_info *m, int form, uint64_t seed)
{
    s->n = 2 + (int32_t)(seed % 6);
    if (form == BUDGETED) s->sort = RILL_SORT_LONGEST_FIRST;
    if (form == BUDGETED && (m->streaming || m->pruned)) s->budget = 1 + (int32_t)(seed / 6 % 20);
    if (form == FLUSHED) s->flush_every = 1 + (int32_t)(seed / 6 % 4);
}

/* --- running and comparing ---------------------------------------------------------------------------------------- */

static int run(cli_check_trial *t, const rill_engine_setup *setup, cli_check_record *out, char how[128])
{
    cli_check_schedule(&setup->settings, how, 128);
    rill_status status = cli_check_run(t->session, t->inputs, setup, out);
    t->begun |= out->begun;
    t->runs++;
    if (status == RILL_OK) return 1;
    snprintf(t->why, sizeof t->why, "%s%s%s", out->begun ? how : "", out->begun ? ": " : "",
             rill_error(t->session->ctx));
    return 0;
}

/* Compare a run with the reference. On a difference, append the likely reason to t->why. */
static int same(cli_check_trial *t, const cli_check_record *other, const char *how, const char *reason)
{
    char what[CLI_CHECK_WHY];
    if (!strcmp(how, t->how)) how = "then";
    if (cli_check_same(t->inputs, &t->reference, t->how, other, how, what)) return 1;
    snprintf(t->why, sizeof t->why, "%.1200s: %s", what, reason);
    return 0;
}

/* Decode, and compare with the reference. how: the run's name in messages; NULL: its schedule. */
static int run_and_compare(cli_check_trial *t, const rill_engine_setup *setup, const char *how, const char *reason)
{
    char schedule[128];
    SCOPED(cli_check_record_free) cli_check_record other = {0};
    return run(t, setup, &other, schedule) && same(t, &other, how ? how : schedule, reason);
}

int cli_check_rerun(cli_check_trial *t, const char *how, const char *reason)
{
    rill_engine_setup setup = t->setup;
    setup.settings.n = 3;
    return run_and_compare(t, &setup, how, reason);
}

/* --- tests of an item --------------------------------------------------------------------------------------------- */

/* Decode twice with one instance of the plugin item, to find state that it keeps. */
static int try_instance(cli_check_trial *t)
{
    rill_context *ctx = t->session->ctx;
    rill_engine_setup setup = t->setup;
    const rill_chain_entry shared = {CLI_CHECK_INSTANCE, NULL};
    const int is_heuristic = t->kind == CLI_CHECK_HEURISTIC;
    const char *arguments = t->arguments ? t->arguments : "";
    *(is_heuristic ? &setup.heuristics : &setup.scorers) = &shared;
    t->instance->self = NULL;
    int good = RILL_OK == (is_heuristic
                               ? share_heuristic(t->instance, ctx, rill_find_heuristic(ctx, t->name), arguments)
                               : share_scorer(t->instance, ctx, rill_find_scorer(ctx, t->name), arguments));
    if (!good) snprintf(t->why, sizeof t->why, "create() failed when it was called a second time: %s", rill_error(ctx));
    for (int i = 0; i < 2 && good; i++) good = run_and_compare(t, &setup, NULL, instance_reason);
    if (t->instance->destroy) t->instance->destroy(t->instance->self);
    return good;
}

/* Decode with the setting `check`: the engine then also gives each input to a new instance and compares the results. */
static int try_engine_check(cli_check_trial *t)
{
    rill_engine_setup setup = t->setup;
    setup.settings.n = CLI_CHECK_INPUTS;
    setup.settings.check = 1;
    return run_and_compare(t, &setup, NULL, schedule_reasons[t->kind]);
}

/* Limit max-nodes so that one input just fits and several must restart. cli_check_same() skips inputs that do not fit. */
static int try_memory_limit(cli_check_trial *t)
{
    rill_engine_setup setup = t->setup;
    setup.settings.n = CLI_CHECK_INPUTS;
    snprintf(setup.settings.method, sizeof setup.settings.method, "stream-all");
    setup.settings.max_nodes = (int32_t)t->reference.nodes_peak + 1;
    return run_and_compare(t, &setup, NULL, schedule_reasons[t->kind]);
}

static int try_schedules(cli_check_trial *t, const rill_method_info *m, uint64_t seed)
{
    const rill_chain_entry *scheduler = t->kind == CLI_CHECK_SCHEDULER ? &t->entry : NULL;
    for (int form = PLAIN; form < FORMS; form++) {
        rill_engine_setup setup = t->setup;
        if (form == FLUSHED && !m->streaming) continue;
        set_method(&setup, m);
        draw_schedule(&setup.settings, m, form, cli_check_mix(seed, (uint64_t)form));
        setup.scheduler = scheduler;
        if (!run_and_compare(t, &setup, NULL, schedule_reasons[t->kind])) return 0;
    }
    return 1;
}

/* Compare runs of a method without pruning with each other, because its outputs differ from those of pruning methods. */
static int try_unpruned(cli_check_trial *t, const rill_method_info *m, uint64_t seed)
{
    const rill_engine_setup setup = t->setup;
    const cli_check_record reference = t->reference;
    t->reference = (cli_check_record){0};
    set_method(&t->setup, m);
    const int good = run(t, &t->setup, &t->reference, t->how) && try_schedules(t, m, seed);
    cli_check_record_free(&t->reference);
    t->setup = setup;
    t->reference = reference;
    cli_check_schedule(&setup.settings, t->how, sizeof t->how);
    return good;
}

static int try_methods(cli_check_trial *t, int pruned, uint64_t seed)
{
    int good = 1;
    for (const rill_method_info *m = rill_method_table(); m->name && good; m++) {
        seed = cli_check_mix(seed, 2);
        if (m->pruned != pruned) continue;
        good = pruned ? try_schedules(t, m, seed) : try_unpruned(t, m, seed);
    }
    return good;
}

static int decodes_any(cli_check_trial *t)
{
    for (int i = 0; i < CLI_CHECK_INPUTS; i++)
        if (t->reference.answer[i].status >= 0) return 1;
    snprintf(t->why, sizeof t->why, "no input could be decoded; the first, \"%.*s\": %.*s%s",
             cli_check_clip(t->inputs->text[0], 60), t->inputs->text[0],
             cli_check_clip(t->reference.answer[0].best, 300), t->reference.answer[0].best,
             t->inputs->made_up ? " (these inputs were generated: set others with -i FILE)" : "");
    return 0;
}

int cli_check_round(cli_check_trial *t, uint64_t seed)
{
    const int chained = t->kind == CLI_CHECK_HEURISTIC || t->kind == CLI_CHECK_SCORER;
    draw_search(t, seed);
    if (!run(t, &t->setup, &t->reference, t->how)) return 0;
    if (t->kind == CLI_CHECK_DOMAIN && !decodes_any(t)) return 0;
    if (!run_and_compare(t, &t->setup, NULL, t->kind == CLI_CHECK_DOMAIN ? domain_repeat_reason : repeat_reason))
        return 0;
    if (chained && !(try_instance(t) && try_engine_check(t))) return 0;
    if (!try_methods(t, 1, seed)) return 0;
    if (t->kind == CLI_CHECK_DOMAIN && !try_memory_limit(t)) return 0;
    return t->kind == CLI_CHECK_HEURISTIC || t->kind == CLI_CHECK_SCHEDULER || try_methods(t, 0, seed);
}
