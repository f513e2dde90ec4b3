/* rill bench: the same input through several search methods, side by side.
 *
 * Every method first runs once untimed, with all its outputs: that run warms up, gives quality and oracle, and a hash per input
 * by which methods with equal search settings are compared; for them the outputs must be the same to the last bit, since a
 * schedule never changes an answer. Timed runs then take turns, A B C A B C, so that a noisy minute is shared by all.
 *
 * Options of the search are defaults here, as a model's are: each method takes what it can. Values written behind a method
 * (fixed:finish=top) are its own and must fit.
 *
 * Divisions: runs · comparing · preparing · the command. */
#include "bench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "options.h"

/* --- runs --------------------------------------------------------------------------------------------------------- */

typedef struct memory_input {
    const cli_lines *lines;
    int64_t next;
} memory_input;

static rill_status read_line(void *user, int may_block, const char **text, size_t *length)
{
    memory_input *input = user;
    (void)may_block;
    if (input->next == input->lines->n) return RILL_END_OF_INPUT;
    *text = cli_lines_get(input->lines, input->next++, length);
    return RILL_OK;
}

static rill_status drop_result(void *user, const rill_result *result)
{
    (void)user;
    (void)result;
    return RILL_OK;
}

typedef struct judge {
    bench *b;
    bench_method *m;
} judge;

/* FNV-1a: good enough to tell outputs apart, and short. */
static uint64_t hash_bytes(uint64_t hash, const void *data, size_t length)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < length; i++) hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}

static uint64_t hash_result(const rill_result *result)
{
    uint64_t hash = 14695981039346656037u;
    hash = hash_bytes(hash, &result->status, sizeof result->status);
    for (int32_t i = 0; i < result->n; i++) {
        const rill_output *o = &result->output[i];
        hash = hash_bytes(hash, o->text, o->length + 1);
        hash = hash_bytes(hash, &o->score, sizeof o->score);
        hash = hash_bytes(hash, &o->logp, sizeof o->logp);
        hash = hash_bytes(hash, o->action, (size_t)o->n_actions * sizeof *o->action);
        hash = hash_bytes(hash, o->action_logp, (size_t)o->n_actions * sizeof *o->action_logp);
    }
    return hash;
}

static rill_status judge_result(void *user, const rill_result *result)
{
    judge *j = user;
    j->m->hash[result->id] = hash_result(result);
    if (result->status < 0 || result->n == 0) j->m->counts.missing++;
    int any = 0;
    for (int32_t i = 0; j->b->judged && i < result->n && !any; i++) {
        any = cli_metric_equal(&j->b->metric, result->id, result->output[i].text, result->output[i].length);
        if (any < 0) return RILL_ERR_MEMORY;
        if (any && i == 0) j->m->counts.exact++;
    }
    j->m->counts.oracle += any;
    return RILL_OK;
}

/* One run of a method over all inputs, by an engine of its own. The model stays open for all runs: its memory has grown to what
 * any method needs once all of them have run untimed, so that none pays for the others' page faults, and what is timed is what
 * someone who decodes a long stream gets. */
static int run_once(bench *b, bench_method *m, int32_t n_best, rill_write_fn write, void *user, double *seconds)
{
    rill_engine *engine;
    memory_input input = {&b->inputs, 0};
    rill_engine_setup setup = m->plan.setup;
    if (n_best > setup.settings.n_best) setup.settings.n_best = n_best;
    if (rill_engine_create(&engine, b->session.ctx, b->session.model, &setup) < 0)
        return cli_fail_context(b->session.ctx);
    double start = cli_now();
    rill_status status = rill_run(engine, read_line, &input, write, user);
    *seconds = cli_now() - start;
    m->stats.struct_size = sizeof m->stats;
    rill_engine_stats(engine, &m->stats);
    rill_engine_destroy(engine);
    return status < 0 ? cli_fail("method %s: %s", m->label, rill_error(b->session.ctx)) : CLI_OK;
}

static void say_where(const bench *b, const bench_method *m, int round)
{
    if (b->quiet || !isatty(STDERR_FILENO)) return;
    if (round < 0)
        fprintf(stderr, "\rtrying %s\033[K", m->label);
    else
        fprintf(stderr, "\rrun %d of %d: %s\033[K", round + 1, b->repeat, m->label);
    fflush(stderr);
}

/* Parts of a run, summed up and divided. */
static void add_seconds(rill_seconds *sum, const rill_seconds *s, double factor)
{
    sum->encode += factor * s->encode;
    sum->step += factor * s->step;
    sum->score += factor * s->score;
    sum->choose += factor * s->choose;
    sum->select += factor * s->select;
    sum->prune += factor * s->prune;
    sum->commit += factor * s->commit;
    sum->finalize += factor * s->finalize;
    sum->scorers += factor * s->scorers;
    sum->total += factor * s->total;
}

static int run_timed(bench *b)
{
    int code = CLI_OK;
    rill_seconds mean[BENCH_METHODS_MAX] = {{0}};
    for (int round = 0; round < b->repeat && code == CLI_OK; round++)
        for (int i = 0; i < b->n && code == CLI_OK; i++) {
            bench_method *m = &b->method[i];
            say_where(b, m, round);
            code = run_once(b, m, 0, drop_result, NULL, &m->seconds[m->runs]);
            add_seconds(&mean[i], &m->stats.seconds, 1.0 / b->repeat);
            m->runs++;
        }
    for (int i = 0; i < b->n; i++) b->method[i].stats.seconds = mean[i];
    return code;
}

static int run_all(bench *b)
{
    int code = CLI_OK;
    double untimed;
    for (int i = 0; i < b->n && code == CLI_OK; i++) {
        bench_method *m = &b->method[i];
        judge j = {b, m};
        say_where(b, m, -1);
        m->counts.inputs = b->inputs.n;
        code = run_once(b, m, m->plan.resolved.k, judge_result, &j, &untimed);
    }
    if (code == CLI_OK) code = run_timed(b);
    if (!b->quiet && isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
    return code;
}

/* --- comparing ---------------------------------------------------------------------------------------------------- */

static int same_chain(const cli_chain *a, const cli_chain *b)
{
    if (a->n != b->n) return 0;
    for (int i = 0; i < a->n; i++)
        if (strcmp(a->link[i].name, b->link[i].name) || strcmp(a->link[i].arguments, b->link[i].arguments)) return 0;
    return 1;
}

/* Everything that may change an answer; the schedule may not. */
static int same_search(const cli_plan *a, const cli_plan *b)
{
    const rill_settings *x = &a->resolved, *y = &b->resolved;
    return x->k == y->k && x->max_candidates == y->max_candidates && x->finish == y->finish &&
           x->stop_after == y->stop_after && x->min_length == y->min_length && x->max_length == y->max_length &&
           x->length_penalty == y->length_penalty && same_chain(&a->heuristics, &b->heuristics) &&
           same_chain(&a->scorers, &b->scorers);
}

static int64_t first_difference(const bench *b, const bench_method *m, const bench_method *other)
{
    for (int64_t input = 0; input < b->inputs.n; input++)
        if (m->hash[input] != other->hash[input]) return input;
    return -1;
}

static int compare_all(bench *b)
{
    int differ = 0;
    for (int i = 0; i < b->n; i++) {
        bench_method *m = &b->method[i];
        m->like = m->same = 0;
        while (m->like < i && !same_search(&b->method[m->like].plan, &m->plan)) m->like++;
        m->difference = first_difference(b, m, &b->method[m->like]);
        while (m->same < i && first_difference(b, m, &b->method[m->same]) >= 0) m->same++;
        differ |= m->difference >= 0;
    }
    return differ ? cli_fail("methods with equal search settings gave different outputs") : CLI_OK;
}

/* --- preparing ---------------------------------------------------------------------------------------------------- */

/* "name:key=value:key=value"; a part without "=" belongs to the value before it (sort=length:500). */
static int parse_method(bench *b, bench_method *m, const char *text, size_t length)
{
    if (length >= sizeof m->label) return cli_fail("--methods: \"%.40s...\" is too long", text);
    memcpy(m->label, text, length);
    char copy[BENCH_LABEL_MAX];
    strcpy(copy, m->label);
    char *rest = strchr(copy, ':');
    if (rest) *rest++ = '\0';
    int code = cli_layer_set(b->session.ctx, &m->own, "method", copy);
    while (code == CLI_OK && rest) {
        char *key = rest, *value = strchr(key, '=');
        if (!value) return cli_fail("--methods: \"%s\": key=value was expected behind the colon", m->label);
        *value++ = '\0';
        rest = strchr(value, ':');
        while (rest && !memchr(rest + 1, '=', strcspn(rest + 1, ":"))) rest = strchr(rest + 1, ':');
        if (rest) *rest++ = '\0';
        code = cli_search_take_named(b->session.ctx, &m->own, key, value);
    }
    return code;
}

static int parse_methods(bench *b)
{
    const char *text = b->methods_text ? b->methods_text : "greedy,fixed,var-batch,var-stream";
    b->method = calloc(BENCH_METHODS_MAX, sizeof *b->method);
    if (!b->method) return cli_fail_memory("the methods");
    while (*text) {
        size_t length = strcspn(text, ",");
        if (b->n == BENCH_METHODS_MAX) return cli_fail("--methods: more than %d", BENCH_METHODS_MAX);
        int code = parse_method(b, &b->method[b->n], text, length);
        if (code != CLI_OK) return code;
        b->n++;
        text += length + (text[length] == ',');
    }
    return b->n ? CLI_OK : cli_fail("--methods: none was named");
}

static int check_files(const bench *b)
{
    cli_file files[5] = {{"input", b->input_path ? b->input_path : b->tsv_path, 0}, {"the table", NULL, 1}};
    int n = 2;
    if (b->references_path) files[n++] = (cli_file){"--refs", b->references_path, 0};
    if (b->json_path) files[n++] = (cli_file){"--json", b->json_path, 1};
    return cli_files_check(files);
}

static int load_data(bench *b)
{
    rill_context *ctx = b->session.ctx;
    int code = CLI_OK;
    if (!b->input_path && !b->tsv_path) return cli_fail("no inputs: -i FILE or --tsv FILE names them");
    if (b->references_path && b->tsv_path) return cli_fail("--refs and --tsv both name references; give one of them");
    if (check_files(b) != CLI_OK) return CLI_FAILED;
    if (b->input_path)
        code = cli_lines_load(&b->inputs, ctx, b->input_path, 0);
    else
        code = cli_lines_load(&b->inputs, ctx, b->tsv_path, 1);
    if (code == CLI_OK && b->references_path) code = cli_lines_load(&b->references, ctx, b->references_path, 0);
    if (code == CLI_OK && b->tsv_path) code = cli_lines_load(&b->references, ctx, b->tsv_path, 2);
    b->judged = b->references_path || b->tsv_path;
    if (code == CLI_OK && b->judged && b->references.n != b->inputs.n)
        return cli_fail("%" PRId64 " inputs, but %" PRId64 " references: they must correspond one to one", b->inputs.n,
                        b->references.n);
    if (code == CLI_OK && b->inputs.n == 0) return cli_fail("there are no inputs");
    return code;
}

static int make_plans(bench *b)
{
    const cli_layer *soft[] = {&b->given, &b->session.config.search};
    int code = CLI_OK;
    for (int i = 0; i < b->n && code == CLI_OK; i++) {
        bench_method *m = &b->method[i];
        code = cli_plan_make(b->session.ctx, &m->own, soft, 2, &m->plan);
        m->hash = code == CLI_OK ? calloc((size_t)b->inputs.n, sizeof *m->hash) : NULL;
        if (code == CLI_OK && !m->hash) code = cli_fail_memory("the comparison");
    }
    return code;
}

static int prepare(bench *b)
{
    int code = parse_methods(b);
    if (code == CLI_OK) code = cli_session_configure(&b->session);
    const char *domain = code == CLI_OK ? cli_session_domain(&b->session) : NULL;
    if (!domain) return CLI_FAILED;
    code = load_data(b);
    if (code == CLI_OK) code = make_plans(b);
    if (code == CLI_OK) code = cli_session_open(&b->session);
    if (code == CLI_OK && b->judged)
        code = cli_metric_open(&b->metric, b->session.ctx, rill_find_domain(b->session.ctx, domain), &b->references);
    return code;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

enum { TAKE_INPUT = 1, TAKE_REFERENCES, TAKE_TSV, TAKE_METHODS, TAKE_REPEAT, TAKE_JSON, TAKE_QUIET };

static const cli_option bench_options[] = {
    {"input", 'i', "FILE", "inputs, one per line", TAKE_INPUT},
    {"refs", 'r', "FILE", "references, one per line; without any, quality is not told", TAKE_REFERENCES},
    {"tsv", 0, "FILE", "inputs and references: two columns with a tab between them", TAKE_TSV},
    {"methods", 0, "A,B,...",
     "methods, each NAME or NAME:KEY=VALUE:... with settings of its own (default greedy,fixed,var-batch,var-stream)",
     TAKE_METHODS},
    {"repeat", 0, "R", "timed runs of every method (default 3)", TAKE_REPEAT},
    {"json", 0, "FILE", "write everything as JSON too", TAKE_JSON},
    {"quiet", 'q', "", "do not tell on standard error where the bench is", TAKE_QUIET},
    {NULL, 0, NULL, NULL, 0},
};

static const char about[] = "Decode one input with several search methods and print a table: quality, seconds,\n"
                            "timesteps, expansions. The model is opened once. Every method runs once untimed,\n"
                            "to warm it up, then R times in turn with the others; seconds are medians. Methods\n"
                            "with equal search settings must give identical outputs; the last column says\n"
                            "whether they do, and the exit code is 1 if they do not; others that give the same\n"
                            "are named there too. Options of the search, and\n"
                            "the model's defaults, apply to every method that can use them; what stands behind\n"
                            "a method's name is its own.";

static const char epilogue[] =
    "Exit code: 0 all fine; 1 failure, or outputs that should be identical are not;\n"
    "2 finished, but some inputs failed.\n"
    "\n"
    "Examples:\n"
    "  rill bench -m model --tsv test.tsv\n"
    "  rill bench -m model -i test.de --methods fixed,fixed:finish=top,fixed-stream --repeat 5\n"
    "  rill bench -m model --tsv test.tsv --budget 100 --methods var-stream,stream-all --json bench.json\n";

static int take_option(void *user, const cli_option *option, const char *value)
{
    bench *b = user;
    if (cli_session_owns(option)) return cli_session_take(&b->session, option, value);
    if (cli_search_owns(option)) return cli_search_take(b->session.ctx, &b->given, option, value);
    switch (option->id) {
    case TAKE_INPUT: b->input_path = value; break;
    case TAKE_REFERENCES: b->references_path = value; break;
    case TAKE_TSV: b->tsv_path = value; break;
    case TAKE_METHODS: b->methods_text = value; break;
    case TAKE_REPEAT: return cli_whole("--repeat", value, 1, BENCH_REPEAT_MAX, &b->repeat);
    case TAKE_JSON: b->json_path = value; break;
    case TAKE_QUIET: b->quiet = 1; break;
    }
    return CLI_OK;
}

static int run(bench *b)
{
    int code = prepare(b);
    if (code == CLI_OK) code = run_all(b);
    if (code != CLI_OK) return code;
    int compared = compare_all(b);
    code = bench_print(b);
    if (code == CLI_OK && b->json_path) code = bench_write_json(b);
    if (code == CLI_OK) code = compared;
    int64_t missing = 0;
    for (int i = 0; i < b->n; i++)
        if (b->method[i].counts.missing > missing) missing = b->method[i].counts.missing;
    if (missing) cli_say("%" PRId64 " of %" PRId64 " inputs have no output", missing, b->inputs.n);
    return code == CLI_OK && missing ? CLI_SOME_FAILED : code;
}

static void end(bench *b)
{
    for (int i = 0; i < b->n; i++) free(b->method[i].hash);
    free(b->method);
    cli_metric_close(&b->metric);
    cli_lines_free(&b->inputs);
    cli_lines_free(&b->references);
    cli_session_end(&b->session);
    free(b);
}

int cli_bench(int argc, char **argv)
{
    int helped = 0;
    cli_option settings[CLI_SETTINGS_MAX + 1];
    const cli_group groups[] = {
        {"Bench", bench_options},
        {"Model", cli_model_options},
        {"Search", settings},
        {"Chains of heuristics and scorers", cli_chain_options},
        {NULL, NULL},
    };
    bench *b = calloc(1, sizeof *b);
    if (!b) return cli_fail_memory("the command");
    b->repeat = 3;
    const cli_syntax syntax = {"rill bench -m DIR {-i FILE [--refs FILE] | --tsv FILE} [options]",
                               about,
                               groups,
                               epilogue,
                               take_option,
                               NULL,
                               b};
    cli_search_options(settings, "method"); /* --methods is the one here */
    int code = cli_session_start(&b->session);
    if (code == CLI_OK) code = cli_parse(&syntax, argc, argv, &helped);
    if (code == CLI_OK && !helped) code = run(b);
    end(b);
    return code;
}
