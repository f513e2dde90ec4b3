/* rill check: test plugins in small random runs, whose results must be bit-identical.
 *
 * Domains run with all methods and several batch sizes, budgets, workers and threads. Other plugins run on a random problem, or on -m's
 * model. */

#include "check.h"

typedef struct check {
    cli_session session;
    cli_runfile runfile;      /* a Lua run file whose heuristics, scorers and scheduler are tested */
    const char *domain;       /* name of the domain, from --domain or config.json; NULL: no model is named */
    rill_open_options model;  /* the model that the options name */
    int32_t threads, workers; /* numbers of threads and workers to compare with one thread and one worker */
    /* [kind] plugins to test, each with its arguments. The plugins of every kind are stored as a list of scorers of an option source. */
    rill_option_source *chains[CLI_CHECK_SCHEDULER + 1];
    const char *input_path;
    cli_check_inputs file_inputs;      /* inputs of -i FILE */
    cli_check_inputs generated_inputs; /* without -i FILE: inputs generated for the open model */
    int rounds;                        /* 0: the default number of rounds */
    int64_t seed;
    cli_check_instance instance;
    cli_check_rescore rescore;
    cli_check_trial trial;
    int skipped; /* 1: the current plugin item cannot be tested, because its arguments or its model are missing */
    int n_checked, n_failed, n_skipped;
} check;

/* --- options ------------------------------------------------------------------------------------------------------ */

/* Add the value of --heuristic, --scorer or --scheduler to the items to test. The option's name is the kind of the item. */
static int take_entry(void *command, const cli_option *option, const char *value)
{
    check *c = command;
    int kind = CLI_CHECK_HEURISTIC;
    while (strcmp(option->name, cli_check_kind_names[kind])) kind++;
    return cli_exit_code(c->session.ctx, rill_option_source_set(c->chains[kind], "scorer", value));
}

#define STORED(field) .member = offsetof(check, field)

static const cli_option check_options[] = {
    {"heuristic", 0, "NAME:ARGS", "a heuristic and its arguments; may be repeated", .take = take_entry,
     .is_repeatable = 1},
    {"scorer", 0, "NAME:ARGS", "a scorer and its arguments; may be repeated", .take = take_entry, .is_repeatable = 1},
    {"scheduler", 0, "NAME[:ARGS]", "a scheduler and its arguments; may be repeated", .take = take_entry,
     .is_repeatable = 1},
    {"input", 'i', "FILE", "inputs, one per line; the first 12 are used (default: generated)", STORED(input_path)},
    {"runs", 0, "N", "rounds of random settings, of about 20 runs each (default 20 on random problems, 3 on a model)",
     STORED(rounds), .type = CLI_INT, .min = 1, .max = 100000},
    {"seed", 0, "S", "seed of the random settings and generated inputs (default 1)", STORED(seed), .type = CLI_INT64,
     .max = INT64_MAX},
    {.name = NULL},
};

static const rill_chain_entry *chain_entries(const check *c, cli_check_kind kind, int32_t *n)
{
    return rill_option_source_chain(c->chains[kind], RILL_CHAIN_SCORERS, n);
}

/* --- opening the model -------------------------------------------------------------------------------------------- */

static int open_model(check *c, const char *domain, const rill_open_options *model, int workers, int threads)
{
    cli_session *s = &c->session;
    cli_session_close(s);
    s->domain = domain;
    s->row_options_only = model != &c->model;
    s->open = *model;
    s->open.threads = threads;
    s->workers = workers;
    return cli_session_open(s);
}

/* --- checking one item of a plugin -------------------------------------------------------------------------------- */

static void print_verdict(check *c, int good)
{
    const cli_check_trial *t = &c->trial;
    c->n_checked++;
    c->n_skipped += c->skipped;
    c->n_failed += !good && !c->skipped;
    cli_print("%s %s", cli_check_kind_names[t->kind], t->name);
    if (t->arguments && t->arguments[0]) cli_print(":%s", t->arguments);
    if (c->skipped)
        cli_print(": not tested: %s\n", t->why);
    else if (!good)
        cli_print(": FAILED: %s\n", t->why);
    else if (t->kind == CLI_CHECK_DOMAIN)
        cli_print(": %d runs of %d %sinput%s agree%s%s\n", t->runs, t->inputs->n_different,
                  t->inputs->made_up ? "made-up " : "", t->inputs->n_different == 1 ? "" : "s",
                  t->inputs->made_up ? "; set other inputs with -i FILE" : "",
                  c->rescore.not_logprobs && !c->rescore.info.unnormalised
                      ? "; its choices are not log-probabilities although unnormalised is not set, so certificates are "
                        "wrong"
                      : "");
    else
        cli_print(": %d runs agree\n", t->runs);
    fflush(stdout);
}

static void begin_check(check *c, cli_check_kind kind, const char *name, const char *arguments)
{
    c->trial = (cli_check_trial){
        .kind = kind, .name = name, .arguments = arguments, .session = &c->session, .instance = &c->instance};
    c->skipped = 0;
}

static void end_check(check *c, int good)
{
    print_verdict(c, good);
    cli_session_close(&c->session);
    cli_check_record_free(&c->trial.reference);
    cli_check_inputs_free(&c->generated_inputs);
}

/* Choose the inputs of the trial. The model must be open. */
static int choose_inputs(check *c)
{
    c->trial.inputs = c->file_inputs.text[0] ? &c->file_inputs : &c->generated_inputs;
    if (c->trial.inputs->text[0]) return CLI_OK;
    return cli_check_inputs_make(&c->generated_inputs, c->session.ctx, c->session.model, (uint64_t)c->seed);
}

/* Number of rounds; more on the random problem, where a round takes only 1 to 2 ms, than on a model. */
static int n_rounds(const check *c, int on_model)
{
    enum { ON_PROBLEMS = 20, ON_MODEL = 3 };
    return c->rounds > 0 ? c->rounds : on_model ? ON_MODEL : ON_PROBLEMS;
}

static uint64_t round_seed(const check *c, int round)
{
    return cli_check_mix((uint64_t)c->seed, (uint64_t)round);
}

/* Repeat the reference run with several workers, then with several threads inside each operation. Each time, the model is opened again. */
static int try_workers_and_threads(check *c, const char *name, const rill_open_options *model)
{
    char how[64];
    snprintf(how, sizeof how, "with %d workers", (int)c->workers);
    if (open_model(c, name, model, c->workers, 1) != CLI_OK) return -1;
    if (!cli_check_rerun(&c->trial, how, "model instances or runners share memory that they write")) return 0;
    snprintf(how, sizeof how, "with %d threads", (int)c->threads);
    if (open_model(c, name, model, 1, c->threads) != CLI_OK) return -1;
    return cli_check_rerun(&c->trial, how,
                           "threads inside a call change the order of a sum, or write to the same memory");
}

/* Find errors of a domain by scoring states twice. Returns 1: none found; 0: see trial.why; -1: the run failed. */
static int try_rescoring(check *c, const char *name, const rill_open_options *model, int *code)
{
    const rill_domain *real = rill_find_domain(c->session.ctx, name);
    const int good = cli_check_rescore_run(&c->rescore, &c->session, real, c->trial.inputs);
    /* the text stays empty if there is no error */
    snprintf(c->trial.why, sizeof c->trial.why, "%s", good < 0 ? rill_error(c->session.ctx) : c->rescore.why);
    *code = open_model(c, name, model, 1, 1);
    return good;
}

static void check_domain(check *c, const char *name, const rill_open_options *model)
{
    begin_check(c, CLI_CHECK_DOMAIN, name, NULL);
    int rescored = 1, code = open_model(c, name, model, 1, 1);
    c->skipped = code != CLI_OK && model != &c->model; /* no option names a model of this domain */
    if (code == CLI_OK) code = choose_inputs(c);
    if (code == CLI_OK) rescored = try_rescoring(c, name, model, &code);
    int good = rescored != 0;
    for (int round = 0; round < n_rounds(c, 1) && good && code == CLI_OK; round++)
        good = cli_check_round(&c->trial, round_seed(c, round));
    if (good && code == CLI_OK) {
        good = try_workers_and_threads(c, name, model);
        code = good < 0 ? CLI_FAILED : CLI_OK;
        if (rescored < 0) good = 0;
    }
    if (good && code == CLI_OK && c->trial.inputs->made_up && !c->trial.reference.had_choices) {
        good = 0;
        snprintf(c->trial.why, sizeof c->trial.why,
                 "nothing was tested: no generated input had a choice between actions; set inputs with -i FILE");
    }
    if (code != CLI_OK)
        snprintf(c->trial.why, sizeof c->trial.why, "it cannot be opened; see the message above%s",
                 model->path ? "" : "; set a model with -m DIR, arguments with --domain-args TEXT");
    end_check(c, good && code == CLI_OK);
}

/* Run one round on the model of -m or --domain, or on a new random problem. */
static int run_chain_round(check *c, int round)
{
    char seed[32];
    const rill_open_options problem = {.arguments = seed};
    int code = CLI_OK;
    snprintf(seed, sizeof seed, "%" PRIu64, round_seed(c, round));
    if (!c->domain)
        code = open_model(c, CLI_CHECK_PROBLEM, &problem, 1, 1);
    else if (round == 0)
        code = open_model(c, c->domain, &c->model, 1, c->threads);
    if (code == CLI_OK) code = choose_inputs(c);
    if (code != CLI_OK) {
        snprintf(c->trial.why, sizeof c->trial.why, "the model cannot be opened; see the message above");
        return 0;
    }
    return cli_check_round(&c->trial, round_seed(c, round));
}

/* Test one heuristic, scorer or scheduler. takes: the syntax of its arguments, for the message that the arguments are missing. */
static void check_chain(check *c, cli_check_kind kind, const char *name, const char *arguments, const char *takes)
{
    char reason[CLI_CHECK_WHY];
    int good = 1;
    begin_check(c, kind, name, arguments);
    for (int round = 0; round < n_rounds(c, c->domain != NULL) && good; round++) good = run_chain_round(c, round);
    c->skipped = !good && !c->trial.begun && !arguments && takes[0];
    if (c->skipped) {
        snprintf(reason, sizeof reason, "%.*s", (int)strcspn(c->trial.why, "\n"), c->trial.why);
        snprintf(c->trial.why, sizeof c->trial.why, "it needs arguments: set --%s %s:%s (%.1500s)",
                 cli_check_kind_names[kind], name, takes, reason);
    }
    end_check(c, good);
}

/* --- checking all items ------------------------------------------------------------------------------------------- */

/* Test the heuristics, scorers and schedulers that options or a run file name, with their arguments. */
static void check_named(check *c)
{
    for (int kind = CLI_CHECK_HEURISTIC; kind <= CLI_CHECK_SCHEDULER; kind++) {
        int32_t n;
        const rill_chain_entry *entry = chain_entries(c, (cli_check_kind)kind, &n);
        for (int32_t i = 0; i < n; i++) check_chain(c, (cli_check_kind)kind, entry[i].name, entry[i].arguments, "");
    }
}

/* Test a heuristic, scorer or scheduler of a plugin, unless an option names it: then check_named() has already tested it. */
static void check_unnamed(check *c, cli_check_kind kind, const char *name, const char *takes)
{
    int32_t n;
    const rill_chain_entry *entry = chain_entries(c, kind, &n);
    for (int32_t i = 0; i < n; i++)
        if (!strcmp(entry[i].name, name)) return;
    check_chain(c, kind, name, NULL, takes);
}

/* Test all domains, heuristics, scorers and schedulers that the plugins registered. */
static void check_registered(check *c)
{
    const rill_context *ctx = c->session.ctx;
    const rill_open_options no_model = {.path = NULL};
    const rill_registry_mark first = c->session.builtin_mark;
    const rill_domain *d;
    const rill_heuristic *h;
    const rill_scorer *s;
    const rill_scheduler *p;
    for (size_t i = first.domains; (d = rill_domain_at(ctx, i)); i++)
        if (!c->domain || strcmp(c->domain, d->name)) check_domain(c, d->name, &no_model);
    for (size_t i = first.heuristics; (h = rill_heuristic_at(ctx, i)); i++)
        check_unnamed(c, CLI_CHECK_HEURISTIC, h->name, h->arguments);
    for (size_t i = first.scorers; (s = rill_scorer_at(ctx, i)); i++)
        check_unnamed(c, CLI_CHECK_SCORER, s->name, s->arguments);
    for (size_t i = first.schedulers; (p = rill_scheduler_at(ctx, i)); i++)
        check_unnamed(c, CLI_CHECK_SCHEDULER, p->name, "ARGS");
}

/* Report masks that a Lua script made and never used: Lua's `and`, `or` and `not` do not combine masks. */
static void report_unused_masks(check *c)
{
    const char *place;
    for (int i = 0; i < c->session.n_scripts; i++)
        for (size_t mask_index = 0; (place = rill_script_unused_mask(c->session.scripts_loaded[i], mask_index));
             mask_index++) {
            c->n_checked++;
            c->n_failed++;
            cli_print("mask %s: FAILED: it is computed and never used: Lua's `a and b` and `a or b` return one of the "
                      "two masks, and `not a` is false; write a & b, a | b, ~a\n",
                      place);
        }
}

/* Load a Lua run file. Each of its heuristics and scorers and its scheduler are tested separately, on the model of the run. */
static int load_run(check *c)
{
    static const rill_chain chain_kinds[] = {[CLI_CHECK_HEURISTIC] = RILL_CHAIN_HEURISTICS,
                                             [CLI_CHECK_SCORER] = RILL_CHAIN_SCORERS,
                                             [CLI_CHECK_SCHEDULER] = RILL_CHAIN_SCHEDULER};
    TRY(cli_runfile_load(&c->runfile, &c->session));
    if (!c->runfile.config) return CLI_OK;
    if (c->runfile.config->constraints) cli_message("warning: %s: constraints are not checked", c->runfile.path);
    if (c->runfile.config->tsv || c->runfile.config->jsonl)
        cli_message("warning: %s: tsv_column and jsonl are ignored: `rill check` reads lines", c->runfile.path);
    c->runfile.is_sweep = 1; /* the workers use only the domain, so they need not load the run file */
    c->input_path = cli_value_or(c->input_path, c->runfile.config->input);
    for (int kind = CLI_CHECK_HEURISTIC; kind <= CLI_CHECK_SCHEDULER; kind++) {
        int32_t n;
        const rill_chain_entry *entry = rill_option_source_chain(c->runfile.options, chain_kinds[kind], &n);
        for (int32_t i = 0; i < n; i++)
            TRY(cli_exit_code(c->session.ctx, rill_option_source_add_to_chain(c->chains[kind], RILL_CHAIN_SCORERS,
                                                                              entry[i].name, entry[i].arguments)));
    }
    return CLI_OK;
}

/* Find the domain of the model and read the inputs, before any test. */
static int prepare(check *c)
{
    cli_session *s = &c->session;
    TRY(load_run(c));
    c->threads = s->open.threads > 1 ? s->open.threads : 2;
    c->workers = s->workers > 1 ? s->workers : 3;
    if (s->open.path || s->domain) {
        TRY(cli_session_configure(s));
        if (!(c->domain = cli_session_domain(s))) return CLI_FAILED;
    }
    c->model = s->open;
    if (c->input_path) TRY(cli_check_inputs_read(&c->file_inputs, s->ctx, c->input_path));
    for (int i = 0; i < s->n_scripts; i++) TRY(cli_exit_code(s->ctx, rill_script_watch(s->scripts_loaded[i])));
    return CLI_OK;
}

static int run(void *command)
{
    check *c = command;
    TRY(prepare(c));
    if (c->domain) check_domain(c, c->domain, &c->model);
    check_named(c);
    check_registered(c);
    report_unused_masks(c);
    if (c->n_checked == 0)
        return cli_fail("nothing to check: set --plugin FILE, -m DIR, --heuristic NAME:ARGS or RUN.lua");
    TRY(cli_flush_stdout());
    if (c->n_failed && c->n_skipped)
        return cli_fail("%d of %d failed, %d not tested", c->n_failed, c->n_checked, c->n_skipped);
    if (c->n_failed) return cli_fail("%d of %d failed", c->n_failed, c->n_checked);
    return c->n_skipped ? cli_fail("%d of %d not tested", c->n_skipped, c->n_checked) : CLI_OK;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

/* Register this command's own domains, heuristic and scorer, before plugins are loaded. Everything that is registered after builtin_mark
 * then belongs to plugins. */
static int start(void *command)
{
    check *c = command;
    rill_context *ctx = c->session.ctx;
    c->seed = 1;
    if (rill_register_domain(ctx, &cli_check_problem) < 0 || cli_check_rescore_register(&c->rescore, ctx) < 0 ||
        cli_check_instance_register(&c->instance, ctx) < 0)
        return cli_fail_context(ctx);
    c->session.builtin_mark = rill_registry_size(ctx);
    for (int kind = CLI_CHECK_HEURISTIC; kind <= CLI_CHECK_SCHEDULER; kind++)
        if (rill_option_source_create(&c->chains[kind], ctx, RILL_FROM_USER) < 0) return cli_fail_context(ctx);
    return CLI_OK;
}

static void end(void *command)
{
    check *c = command;
    cli_check_inputs_free(&c->file_inputs);
    for (int kind = CLI_CHECK_HEURISTIC; kind <= CLI_CHECK_SCHEDULER; kind++) rill_option_source_free(c->chains[kind]);
    cli_runfile_end(&c->runfile);
}

const cli_command cli_check = {
    .name = "check",
    .summary = "test a plugin",
    .usage =
        "rill check --plugin FILE [options]\n       rill check -m DIR [options]\n       rill check RUN.lua [options]",
    .groups = {{"Items to check", check_options},
               {"Model", cli_model_options},
               {"Options of the domain", .rows = CLI_ROWS_DOMAINS}},
    .main_options = "heuristic scorer scheduler input runs seed model domain threads workers plugin weights device",
    .argument = "run file",
    .argument_member = offsetof(check, runfile.path),
    .size = sizeof(check),
    .start = start,
    .run = run,
    .end = end,
};
