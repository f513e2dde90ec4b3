/* rill check: whether what a plugin brings keeps its contract, tried on tiny random runs.
 *
 * A domain is decoded with under every method, batch and budget, by several workers and with several threads, and must give the same
 * answers to the bit. A heuristic, scorer or policy is put to the same proof on a tiny problem of the command's own, or on the model
 * that was named.
 *
 * Divisions: options · models · one thing · all things · the command. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_asked.h"
#include "check_problem.h"
#include "check_trial.h"
#include "options.h"
#include "runfile.h"

typedef struct check {
    cli_session session;
    cli_runfile runfile;      /* a run whose chains are checked */
    const char *domain;       /* of the model that options name, as they or its config.json say; NULL: they name none */
    rill_open_options model;  /* that model */
    int32_t threads, workers; /* to compare with one */
    rill_layer
        *named[CLI_CHECK_POLICY + 1]; /* by kind: names and arguments, all of them kept as a layer keeps scorers */
    const char *input_path;
    cli_check_inputs given, made; /* from that file; without one, of the model that is open */
    int rounds;                   /* 0: as many as there is time for */
    int64_t seed;
    cli_check_instance instance;
    cli_check_asked asked;
    cli_check_trial trial;
    int skipped; /* the thing at hand was not tried: it needs what was not given */
    int things, wrong, untried;
} check;

/* --- options ------------------------------------------------------------------------------------------------------ */

enum { TAKE_INPUT = 1, TAKE_HEURISTIC, TAKE_SCORER, TAKE_POLICY, TAKE_RUNS, TAKE_SEED };

static const cli_option check_options[] = {
    {"heuristic", 0, "NAME:ARGS", "a heuristic and its arguments; may be repeated", .id = TAKE_HEURISTIC},
    {"scorer", 0, "NAME:ARGS", "a scorer and its arguments; may be repeated", .id = TAKE_SCORER},
    {"policy", 0, "NAME[:ARGS]", "a policy and its arguments; may be repeated", .id = TAKE_POLICY},
    {"input", 'i', "FILE", "inputs, one per line, of which the first 12 are taken (default: made up)",
     .id = TAKE_INPUT},
    {"runs", 0, "N", "rounds of random settings, of 20 runs or so each (default 20 on random problems, 3 on a model)",
     .id = TAKE_RUNS},
    {"seed", 0, "S", "what the settings and made-up inputs are drawn by (default 1)", .id = TAKE_SEED},
    {.name = NULL},
};

static int name_one(check *c, cli_check_kind kind, const char *text)
{
    return rill_layer_set(c->named[kind], "scorer", text) < 0 ? cli_fail_context(c->session.ctx) : CLI_OK;
}

static const rill_chain_entry *named(const check *c, cli_check_kind kind, int32_t *n)
{
    return rill_layer_entries(c->named[kind], RILL_CHAIN_SCORERS, n);
}

static int take_option(void *user, const cli_option *option, const char *value)
{
    check *c = user;
    if (cli_session_owns(option)) return cli_session_take(&c->session, option, value);
    switch (option->id) {
    case TAKE_INPUT: c->input_path = value; return CLI_OK;
    case TAKE_HEURISTIC: return name_one(c, CLI_CHECK_HEURISTIC, value);
    case TAKE_SCORER: return name_one(c, CLI_CHECK_SCORER, value);
    case TAKE_POLICY: return name_one(c, CLI_CHECK_POLICY, value);
    case TAKE_RUNS: return cli_whole("--runs", value, 1, 100000, &c->rounds);
    default: return cli_whole64("--seed", value, 0, INT64_MAX, &c->seed);
    }
}

static int take_argument(void *user, const char *value)
{
    check *c = user;
    if (c->runfile.path) return cli_fail("one run was expected, \"%s\" is a second", value);
    c->runfile.path = value;
    return CLI_OK;
}

/* --- models ------------------------------------------------------------------------------------------------------- */

static void close_model(check *c)
{
    rill_workers_close(c->session.crew);
    c->session.crew = NULL;
    c->session.model = NULL;
}

static int open_model(check *c, const char *domain, const rill_open_options *model, int workers, int threads)
{
    cli_session *s = &c->session;
    close_model(c);
    s->domain = domain;
    s->bare = model != &c->model;
    s->open = *model;
    s->open.threads = threads;
    s->workers = workers;
    return cli_session_open(s);
}

/* --- one thing ---------------------------------------------------------------------------------------------------- */

static void conclude(check *c, int good)
{
    const cli_check_trial *t = &c->trial;
    c->things++;
    c->untried += c->skipped;
    c->wrong += !good && !c->skipped;
    cli_print("%s %s", cli_check_words[t->kind], t->name);
    if (t->arguments && t->arguments[0]) cli_print(":%s", t->arguments);
    if (c->skipped)
        cli_print(": not tried: %s\n", t->why);
    else if (!good)
        cli_print(": FAILED: %s\n", t->why);
    else if (t->kind == CLI_CHECK_DOMAIN)
        cli_print(
            ": %d runs of %d %sinput%s agree%s%s\n", t->runs, t->inputs->different,
            t->inputs->made_up ? "made-up " : "", t->inputs->different == 1 ? "" : "s",
            t->inputs->made_up ? "; -i FILE takes others" : "",
            c->asked.scores && !c->asked.info.unnormalised
                ? "; its choices are no log-probabilities, and it does not say so (unnormalised), so certificates err"
                : "");
    else
        cli_print(": %d runs agree\n", t->runs);
    fflush(stdout);
}

static void begin(check *c, cli_check_kind kind, const char *name, const char *arguments)
{
    c->trial = (cli_check_trial){
        .kind = kind, .name = name, .arguments = arguments, .session = &c->session, .instance = &c->instance};
    c->skipped = 0;
}

static void end(check *c, int good)
{
    conclude(c, good);
    close_model(c);
    cli_check_record_free(&c->trial.reference);
    cli_check_inputs_free(&c->made);
}

/* The model is open. */
static int settle_inputs(check *c)
{
    c->trial.inputs = c->given.n > 0 ? &c->given : &c->made;
    if (c->trial.inputs->n > 0) return CLI_OK;
    return cli_check_inputs_make(&c->made, c->session.ctx, c->session.model, (uint64_t)c->seed);
}

/* A round on a tiny problem takes a millisecond or two; a model may be any size. */
static int rounds_of(const check *c, int on_model)
{
    enum { ON_PROBLEMS = 20, ON_MODEL = 3 };
    if (c->rounds > 0) return c->rounds;
    return on_model ? ON_MODEL : ON_PROBLEMS;
}

static uint64_t dice_of(const check *c, int round)
{
    return cli_check_mix((uint64_t)c->seed, (uint64_t)round);
}

/* The same in other hands: several workers, a second model, threads inside operations. */
static int try_hands(check *c, const char *name, const rill_open_options *model)
{
    char how[64];
    snprintf(how, sizeof how, "with %d workers", (int)c->workers);
    if (open_model(c, name, model, c->workers, 1) != CLI_OK) return -1;
    if (!cli_check_again(&c->trial, how, "runners, or models that are opened side by side, share what they write to"))
        return 0;
    snprintf(how, sizeof how, "with %d threads", (int)c->threads);
    if (open_model(c, name, model, 1, c->threads) != CLI_OK) return -1;
    return cli_check_again(&c->trial, how, "threads inside a call change the order of a sum, or write to one place");
}

/* What no comparison of runs shows. What fails here (-1) most often fails in the rounds too, which tell more. */
static int try_asking(check *c, const char *name, const rill_open_options *model, int *code)
{
    const rill_domain *real = rill_find_domain(c->session.ctx, name);
    const int good = cli_check_asked_try(&c->asked, &c->session, real, c->trial.inputs);
    snprintf(c->trial.why, sizeof c->trial.why, "%s",
             good < 0 ? rill_error(c->session.ctx) : c->asked.why); /* of what is good: empty */
    *code = open_model(c, name, model, 1, 1);
    return good;
}

static void check_domain(check *c, const char *name, const rill_open_options *model)
{
    begin(c, CLI_CHECK_DOMAIN, name, NULL);
    int asked = 1, code = open_model(c, name, model, 1, 1);
    c->skipped = code != CLI_OK && model != &c->model; /* nobody named it */
    if (code == CLI_OK) code = settle_inputs(c);
    if (code == CLI_OK) asked = try_asking(c, name, model, &code);
    int good = asked != 0;
    for (int round = 0; round < rounds_of(c, 1) && good && code == CLI_OK; round++)
        good = cli_check_round(&c->trial, dice_of(c, round));
    if (good && code == CLI_OK) {
        good = try_hands(c, name, model);
        code = good < 0 ? CLI_FAILED : CLI_OK;
        if (asked < 0) good = 0;
    }
    if (good && code == CLI_OK && c->trial.inputs->made_up && !c->trial.reference.had_choices) {
        good = 0;
        snprintf(c->trial.why, sizeof c->trial.why,
                 "nothing was tried: no made-up input left a choice between actions; -i FILE takes inputs that do");
    }
    if (code != CLI_OK)
        snprintf(c->trial.why, sizeof c->trial.why, "it does not open, as told%s",
                 model->path ? "" : "; -m DIR opens it with a model, --domain-args TEXT with arguments");
    end(c, good && code == CLI_OK);
}

/* A round on the model that was named, or on a new problem. */
static int chain_round(check *c, int round)
{
    char seed[32];
    const rill_open_options problem = {.arguments = seed};
    int code = CLI_OK;
    snprintf(seed, sizeof seed, "%" PRIu64, dice_of(c, round));
    if (!c->domain)
        code = open_model(c, CLI_CHECK_PROBLEM, &problem, 1, 1);
    else if (round == 0)
        code = open_model(c, c->domain, &c->model, 1, c->threads);
    if (code == CLI_OK) code = settle_inputs(c);
    if (code != CLI_OK) {
        snprintf(c->trial.why, sizeof c->trial.why, "the model does not open, as told");
        return 0;
    }
    return cli_check_round(&c->trial, dice_of(c, round));
}

/* `takes`: how its arguments are written. */
static void check_chain(check *c, cli_check_kind kind, const char *name, const char *arguments, const char *takes)
{
    char said[CLI_CHECK_WHY];
    int good = 1;
    begin(c, kind, name, arguments);
    for (int round = 0; round < rounds_of(c, c->domain != NULL) && good; round++) good = chain_round(c, round);
    c->skipped = !good && !c->trial.begun && !arguments && takes[0];
    if (c->skipped) {
        snprintf(said, sizeof said, "%.*s", (int)strcspn(c->trial.why, "\n"), c->trial.why);
        snprintf(c->trial.why, sizeof c->trial.why, "--%s %s:%s gives the arguments that it takes (%.1500s)",
                 cli_check_words[kind], name, takes, said);
    }
    end(c, good);
}

/* --- all things --------------------------------------------------------------------------------------------------- */

/* What options or a run name, with the arguments that they give. */
static void check_named(check *c)
{
    for (int kind = CLI_CHECK_HEURISTIC; kind <= CLI_CHECK_POLICY; kind++) {
        int32_t n;
        const rill_chain_entry *entry = named(c, (cli_check_kind)kind, &n);
        for (int32_t i = 0; i < n; i++) check_chain(c, (cli_check_kind)kind, entry[i].name, entry[i].arguments, "");
    }
}

/* Unless it was named, and so checked already. */
static void check_unnamed(check *c, cli_check_kind kind, const char *name, const char *takes)
{
    int32_t n;
    const rill_chain_entry *entry = named(c, kind, &n);
    for (int32_t i = 0; i < n; i++)
        if (!strcmp(entry[i].name, name)) return;
    check_chain(c, kind, name, NULL, takes);
}

/* What plugins registered. */
static void check_registered(check *c)
{
    const rill_context *ctx = c->session.ctx;
    const rill_open_options no_model = {.path = NULL};
    const rill_registry_mark first = c->session.shared;
    const rill_domain *d;
    const rill_heuristic *h;
    const rill_scorer *s;
    const rill_policy *p;
    for (size_t i = first.domains; (d = rill_domain_at(ctx, i)); i++)
        if (!c->domain || strcmp(c->domain, d->name)) check_domain(c, d->name, &no_model);
    for (size_t i = first.heuristics; (h = rill_heuristic_at(ctx, i)); i++)
        check_unnamed(c, CLI_CHECK_HEURISTIC, h->name, h->arguments);
    for (size_t i = first.scorers; (s = rill_scorer_at(ctx, i)); i++)
        check_unnamed(c, CLI_CHECK_SCORER, s->name, s->arguments);
    for (size_t i = first.policies; (p = rill_policy_at(ctx, i)); i++)
        check_unnamed(c, CLI_CHECK_POLICY, p->name, "ARGS");
}

static int count_scripts(const check *c)
{
    return c->session.scripts < CLI_SCRIPTS_MAX ? c->session.scripts : CLI_SCRIPTS_MAX;
}

static int watch_scripts(check *c)
{
    for (int i = 0; i < count_scripts(c); i++)
        if (rill_script_watch(c->session.script_at[i]) < 0) return cli_fail_context(c->session.ctx);
    return CLI_OK;
}

/* What runs cannot show: Lua's own words, where masks were meant. */
static void tell_masks(check *c)
{
    const char *place;
    for (int i = 0; i < count_scripts(c); i++)
        for (size_t at = 0; (place = rill_script_unused_mask(c->session.script_at[i], at)); at++) {
            c->things++;
            c->wrong++;
            cli_print(
                "mask %s: FAILED: it is made here and never used: `a and b` and `a or b` are one of two masks and "
                "`not a` is false; write a & b, a | b, ~a\n",
                place);
        }
}

/* A run's chains are checked link by link, as if options named them, and on its model. */
static int take_run(check *c)
{
    static const rill_chain said[] = {[CLI_CHECK_HEURISTIC] = RILL_CHAIN_HEURISTICS,
                                      [CLI_CHECK_SCORER] = RILL_CHAIN_SCORERS,
                                      [CLI_CHECK_POLICY] = RILL_CHAIN_POLICY};
    int code = cli_runfile_load(&c->runfile, &c->session);
    if (code != CLI_OK || !c->runfile.said) return code;
    if (c->runfile.said->constraints) cli_say("warning: %s: constraints are not checked", c->runfile.path);
    if (c->runfile.said->tsv || c->runfile.said->jsonl)
        cli_say("warning: %s: inputs are lines here, not rows or objects", c->runfile.path);
    c->runfile.points = 1; /* what workers decode with here is the domain alone */
    c->input_path = cli_given_or(c->input_path, c->runfile.said->input);
    for (int kind = CLI_CHECK_HEURISTIC; kind <= CLI_CHECK_POLICY; kind++) {
        int32_t n;
        const rill_chain_entry *entry = rill_layer_entries(c->runfile.layer, said[kind], &n);
        for (int32_t i = 0; i < n; i++)
            if (rill_layer_add(c->named[kind], RILL_CHAIN_SCORERS, entry[i].name, entry[i].arguments) < 0)
                return cli_fail_context(c->session.ctx);
    }
    return CLI_OK;
}

/* Before anything is tried: the model's name and the inputs. */
static int prepare(check *c)
{
    cli_session *s = &c->session;
    int code = take_run(c);
    if (code != CLI_OK) return code;
    c->threads = s->open.threads > 1 ? s->open.threads : 2;
    c->workers = s->workers > 1 ? s->workers : 3;
    if (s->open.path || s->domain) {
        code = cli_session_configure(s);
        if (code == CLI_OK && !(c->domain = cli_session_domain(s))) code = CLI_FAILED;
    }
    c->model = s->open;
    if (code == CLI_OK && c->input_path) code = cli_check_inputs_read(&c->given, s->ctx, c->input_path);
    return code == CLI_OK ? watch_scripts(c) : code;
}

static int sum_up(const check *c)
{
    if (c->wrong && c->untried) return cli_fail("%d of %d failed, %d not tried", c->wrong, c->things, c->untried);
    if (c->wrong) return cli_fail("%d of %d failed", c->wrong, c->things);
    return c->untried ? cli_fail("%d of %d not tried", c->untried, c->things) : CLI_OK;
}

static int check_all(check *c)
{
    int code = prepare(c);
    if (code != CLI_OK) return code;
    if (c->domain) check_domain(c, c->domain, &c->model);
    check_named(c);
    check_registered(c);
    tell_masks(c);
    if (c->things == 0)
        return cli_fail("nothing to check: --plugin FILE, -m DIR, --heuristic NAME:ARGS or RUN.lua names something");
    code = cli_end_printing();
    return code == CLI_OK ? sum_up(c) : code;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

/* Before the plugins, so that what comes behind the mark is theirs. */
static int register_own(check *c)
{
    rill_context *ctx = c->session.ctx;
    if (rill_register_domain(ctx, &cli_check_problem) < 0 || cli_check_asked_register(&c->asked, ctx) < 0 ||
        cli_check_instance_register(&c->instance, ctx) < 0)
        return cli_fail_context(ctx);
    c->session.shared = rill_registry_size(ctx);
    for (int kind = CLI_CHECK_HEURISTIC; kind <= CLI_CHECK_POLICY; kind++)
        if (rill_layer_create(&c->named[kind], ctx, RILL_FROM_USER) < 0) return cli_fail_context(ctx);
    return CLI_OK;
}

int cli_check(int argc, char **argv)
{
    int helped = 0;
    check *c = calloc(1, sizeof *c);
    if (!c) return cli_fail_memory("the command");
    const cli_group groups[] = {{"What is checked, and how", check_options},
                                {"Model", cli_model_options},
                                {"Options of the domain", c->session.rows.domains},
                                {NULL, NULL}};
    const cli_syntax syntax = {
        "rill check --plugin FILE [options]\n       rill check -m DIR [options]\n       rill check RUN.lua [options]",
        "Try whether what plugins bring keeps its contract: domains, heuristics, scorers\n"
        "and policies. Each is decoded with in many tiny runs, under every method, batch\n"
        "and budget, which must agree to the bit; what looks at its neighbours or\n"
        "remembers is caught, and the message tells how. With -m or --domain that domain\n"
        "is checked, and heuristics, scorers and policies are tried on it; without, on\n"
        "random problems.\n"
        "Of a run described in Lua its model and the links of its chains are checked.\n"
        "--workers and --threads say how many are compared with one (default 3 and 2).",
        groups,
        "Exit code: 0 all is well; 1 something is wrong, or could not be tried.\n"
        "\n"
        "Examples:\n"
        "  rill check --plugin ./rill-mine.so\n"
        "  rill check --plugin mine.lua --heuristic mine:2.5\n"
        "  rill check --plugin ./rill-mine.so -m model -i inputs.txt --runs 10\n"
        "  rill check run.lua\n",
        take_option,
        take_argument,
        c};
    c->seed = 1;
    int code = cli_session_start(&c->session);
    if (code == CLI_OK) code = register_own(c);
    if (code == CLI_OK) code = cli_session_parse(&c->session, &syntax, argc, argv, &helped);
    if (code == CLI_OK && !helped) code = check_all(c);
    cli_check_inputs_free(&c->given);
    for (int kind = CLI_CHECK_HEURISTIC; kind <= CLI_CHECK_POLICY; kind++) rill_layer_free(c->named[kind]);
    cli_runfile_end(&c->runfile);
    cli_session_end(&c->session);
    free(c);
    return code;
}
