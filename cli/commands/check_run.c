/* Runs of `rill check`; see check.h. */
#include "check.h"

#include "cli_input.h"

/* --- inputs ------------------------------------------------------------------------------------------------------- */

int cli_check_inputs_read(cli_check_inputs *inputs, rill_context *ctx, const char *path)
{
    SCOPED(cli_lines_free) cli_lines lines = {0};
    TRY(cli_lines_load(&lines, ctx, path));
    const int n = lines.n < CLI_CHECK_INPUTS ? (int)lines.n : CLI_CHECK_INPUTS;
    if (n == 0) return cli_fail("%s: expected inputs, found none", path);
    for (int i = 0; i < CLI_CHECK_INPUTS; i++) {
        size_t length;
        const char *text = cli_lines_get(&lines, i % n, &length);
        if (!(inputs->text[i] = strndup(text, length))) return cli_fail_memory("an input");
    }
    inputs->n_different = n;
    return CLI_OK;
}

/* Append the name of a random action, or a word if the action has no name or its name contains a line break. */
static rill_status add_random_name(rill_text *line, const rill_model *model, uint64_t seed)
{
    static const char *const words[] = {"the", "cat", "a", "12", "sat", "b"};
    const size_t begin = line->length;
    const int32_t action = (int32_t)(seed % (uint64_t)rill_model_info(model)->actions);
    rill_status status = rill_model_action_name(model, action, line);
    if (status == RILL_OK && strcspn(line->data + begin, "\r\n") == line->length - begin) return status;
    if (status != RILL_OK && status != RILL_ERR_NOT_FOUND) return status;
    line->length = begin;
    return rill_text_printf(line, "%s", words[seed / 7 % (sizeof words / sizeof *words)]);
}

int cli_check_inputs_make(cli_check_inputs *inputs, rill_context *ctx, const rill_model *model, uint64_t seed)
{
    SCOPED(rill_text_clear) rill_text line = {.ctx = ctx};
    inputs->made_up = 1;
    inputs->n_different = CLI_CHECK_INPUTS;
    for (int i = 0; i < CLI_CHECK_INPUTS; i++) {
        rill_status status = RILL_OK;
        rill_text_reset(&line);
        for (int word = 0; word < 1 + i % 6 && status == RILL_OK; word++) {
            if (word > 0 && i % 2 == 0) status = rill_text_append(&line, " ", 1);
            if (status == RILL_OK)
                status = add_random_name(&line, model, cli_check_mix(seed, (uint64_t)(i * CLI_CHECK_INPUTS + word)));
        }
        TRY(cli_exit_code(ctx, status));
        if (!(inputs->text[i] = strndup(line.data, line.length))) return cli_fail_memory("an input");
    }
    return CLI_OK;
}

void cli_check_inputs_free(cli_check_inputs *inputs)
{
    for (int i = 0; i < CLI_CHECK_INPUTS; i++) free(inputs->text[i]);
    *inputs = (cli_check_inputs){0};
}

/* --- one run of the engine ---------------------------------------------------------------------------------------- */

typedef struct check_run_state {
    const cli_check_inputs *inputs;
    int next;
    cli_check_record *record;
} check_run_state;

static rill_status read_input(void *user, int may_block, const char **text, size_t *length)
{
    check_run_state *r = user;
    (void)may_block;
    if (r->next == CLI_CHECK_INPUTS) return RILL_END_OF_INPUT;
    *text = r->inputs->text[r->next++];
    *length = strlen(*text);
    return RILL_OK;
}

static void put_outputs(FILE *to, const rill_result *result)
{
    for (int32_t i = 0; i < result->n_outputs; i++) {
        const rill_output *o = rill_result_output(result, i);
        fprintf(to, "%a %a %a %d ", o->path_score, o->score, o->logp, (int)o->finish_reason);
        for (int32_t a = 0; a < o->n_ids; a++) fprintf(to, "%" PRId32 ":%a ", o->ids[a], (double)o->id_logps[a]);
        fwrite(o->text, 1, o->text_bytes, to);
        fputc('\n', to);
    }
    if (result->status < 0) fputs(result->message, to);
}

static rill_status keep_result(void *user, const rill_result *result)
{
    check_run_state *r = user;
    if (result->id >= CLI_CHECK_INPUTS) return RILL_ERR_STOPPED;
    cli_check_answer *a = &r->record->answer[result->id];
    FILE *to = open_memstream(&a->outputs, &a->outputs_length);
    a->status = result->status;
    a->n_outputs = result->n_outputs;
    a->score = result->n_outputs > 0 ? rill_result_output(result, 0)->path_score : 0;
    a->best = strdup(result->n_outputs > 0 ? rill_result_output(result, 0)->text : result->message);
    if (to) put_outputs(to, result);
    return to && !fclose(to) && a->best ? RILL_OK : RILL_ERR_MEMORY;
}

rill_status cli_check_run(cli_session *session, const cli_check_inputs *inputs, const rill_engine_setup *setup,
                          cli_check_record *out)
{
    rill_workers *workers = session->worker_pool;
    check_run_state r = {inputs, 0, out};
    rill_stats stats = {.struct_size = sizeof stats};
    cli_check_record_free(out);
    rill_error_clear(session->ctx);
    rill_status status = cli_workers_begin(session, NULL, setup);
    if (status < 0) return status;
    out->begun = 1;
    status = rill_workers_run(workers, read_input, &r, keep_result, &r);
    rill_workers_stats(workers, &stats);
    out->nodes_peak = stats.nodes_peak;
    out->had_choices = stats.candidates > stats.expansions;
    rill_workers_finish(workers);
    return status;
}

void cli_check_record_free(cli_check_record *record)
{
    for (int i = 0; i < CLI_CHECK_INPUTS; i++) {
        free(record->answer[i].best);
        free(record->answer[i].outputs);
    }
    *record = (cli_check_record){0};
}

/* --- comparing the results ---------------------------------------------------------------------------------------- */

int cli_check_clip(const char *text, int max_bytes)
{
    const size_t length = strlen(text);
    if (length <= (size_t)max_bytes) return (int)length;
    while (max_bytes > 0 && ((unsigned char)text[max_bytes] & 0xc0) == 0x80) max_bytes--;
    return max_bytes;
}

void cli_check_schedule(const rill_settings *s, char *out, size_t size)
{
    char batch[32] = "alone", budget[32] = "", flush[32] = "", nodes[32] = "";
    if (s->n > 1) snprintf(batch, sizeof batch, "in a batch of %" PRId32, s->n);
    if (s->budget) snprintf(budget, sizeof budget, ", budget %" PRId32, s->budget);
    if (s->flush_every) snprintf(flush, sizeof flush, ", flush-every %" PRId32, s->flush_every);
    if (s->max_nodes) snprintf(nodes, sizeof nodes, ", max-nodes %" PRId32, s->max_nodes);
    snprintf(out, size, "%s (%s%s%s%s%s)", batch, s->method, budget, flush, s->sort ? ", sorted" : "", nodes);
}

static int is_same(const cli_check_answer *a, const cli_check_answer *b)
{
    return a->status == b->status && a->outputs_length == b->outputs_length &&
           !memcmp(a->outputs, b->outputs, a->outputs_length);
}

static void describe(const cli_check_answer *a, int digits, char *out, size_t size)
{
    if (a->status < 0)
        snprintf(out, size, "it failed: %.*s", cli_check_clip(a->best, 200), a->best);
    else
        rill_print(out, size, "\"%.*s\" (score %.*g, %" PRId32 " output%s)", cli_check_clip(a->best, 100), a->best,
                   digits, a->score, a->n_outputs, a->n_outputs == 1 ? "" : "s");
}

static void describe_difference(const cli_check_inputs *inputs, int i, const cli_check_answer *a, const char *how_a,
                                const cli_check_answer *b, const char *how_b, char why[CLI_CHECK_WHY])
{
    enum { FEW = 6, ALL = 17 };
    char one[400], two[400];
    const char *same = "";
    describe(a, FEW, one, sizeof one);
    describe(b, FEW, two, sizeof two);
    if (!strcmp(one, two)) {
        describe(a, ALL, one, sizeof one);
        describe(b, ALL, two, sizeof two);
    }
    if (!strcmp(one, two)) same = " too, and later outputs differ";
    snprintf(why, CLI_CHECK_WHY, "input %d, \"%.*s\": %s %s, %s %s%s", i, cli_check_clip(inputs->text[i], 60),
             inputs->text[i], how_a, one, how_b, two, same);
}

int cli_check_same(const cli_check_inputs *inputs, const cli_check_record *one, const char *how_one,
                   const cli_check_record *two, const char *how_two, char why[CLI_CHECK_WHY])
{
    for (int i = 0; i < CLI_CHECK_INPUTS; i++) {
        const cli_check_answer *a = &one->answer[i], *b = &two->answer[i];
        const int is_refused = b->status < 0 && strstr(b->best, "max-nodes allows"); /* not compared */
        if (is_same(a, b) || is_refused) continue;
        describe_difference(inputs, i, a, how_one, b, how_two, why);
        return 0;
    }
    return 1;
}

/* --- a random decoding problem ----------------------------------------------------------------------------------------- */

enum { MIN_PROBLEM_ACTIONS = 5, MAX_PROBLEM_ACTIONS = 12, MAX_PROBLEM_LENGTH = 9 };

/* The random problem as a domain. Its actions are letters, and the last action ends an output. */
typedef struct problem {
    rill_context *ctx;
    uint64_t seed;
    int32_t actions;
    rill_arena arena; /* memory of the arrays */
    uint64_t *node;   /* [nodes] hash of each state's input and actions */
    uint64_t *slot;   /* [slots] hash of the input in each slot */
} problem;

static void close_problem(void *self)
{
    problem *p = self;
    if (!p) return;
    rill_arena_clear(&p->arena);
    rill_free(p->ctx, p, sizeof *p);
}

static rill_status open_problem(const rill_domain *table, rill_context *ctx, const rill_open_options *options,
                                void **self, rill_domain_info *info)
{
    (void)table;
    problem *p = rill_calloc(ctx, 1, sizeof *p);
    if (!p) return rill_fail_memory(ctx, sizeof *p, "the problem");
    p->ctx = p->arena.ctx = ctx;
    p->seed = cli_check_mix(options->arguments ? strtoull(options->arguments, NULL, 10) : 0, 1);
    p->actions = MIN_PROBLEM_ACTIONS + (int32_t)(p->seed % (MAX_PROBLEM_ACTIONS - MIN_PROBLEM_ACTIONS + 1));
    *info = (rill_domain_info){.actions = p->actions,
                               .phases = 1,
                               .state_need = RILL_STATE_PARENT,
                               .max_length = MAX_PROBLEM_LENGTH,
                               .description = "a tiny random problem",
                               .node_bytes = sizeof *p->node,
                               .slot_bytes = sizeof *p->slot,
                               .has_end_action = 1,
                               .end_action = p->actions - 1};
    *self = p;
    return RILL_OK;
}

static rill_status reserve(void *self, int32_t nodes, int32_t slots)
{
    problem *p = self;
    TRY(GROW(&p->arena, p->node, (size_t)nodes, "states"));
    return GROW(&p->arena, p->slot, (size_t)slots, "inputs");
}

static rill_status encode(void *self, int32_t m, rill_input *inputs)
{
    problem *p = self;
    for (rill_input *in = inputs; in < inputs + m; in++) {
        uint64_t hash = p->seed;
        for (size_t i = 0; i < in->length; i++) hash = cli_check_mix(hash, (unsigned char)in->text[i]);
        p->slot[in->slot] = hash;
        in->max_length = 3 + (int32_t)(hash % (MAX_PROBLEM_LENGTH - 2));
        in->size = in->max_length;
    }
    return RILL_OK;
}

static rill_status step(void *self, const rill_rows *rows)
{
    problem *p = self;
    for (int32_t i = 0; i < rows->n; i++) {
        const int first = rows->action[i] == RILL_ACTION_START;
        p->node[rows->node[i]] = first ? p->slot[rows->slot[i]]
                                       : cli_check_mix(p->node[rows->state_parent[i]], (uint64_t)rows->action[i]);
    }
    return RILL_OK;
}

static rill_status score(void *self, const rill_rows *rows, const rill_score_request *score_request,
                         rill_score_result *out)
{
    const problem *p = self;
    for (int32_t row = 0; row < rows->n; row++) {
        int32_t action[MAX_PROBLEM_ACTIONS], n = 0;
        float logp[MAX_PROBLEM_ACTIONS];
        for (int32_t a = 0; a < p->actions; a++) {
            const uint64_t hash = cli_check_mix(p->node[rows->node[row]], (uint64_t)(a + p->actions));
            if (hash % 4 == 0 && a > 1) continue; /* an illegal action */
            action[n] = a;
            logp[n++] = -(float)(1 + hash / 4 % 64) / 16;
        }
        rill_score_result_fill(score_request, row, n, action, logp, NULL, out);
    }
    return RILL_OK;
}

static rill_status action_name(void *self, int32_t action, rill_text *out)
{
    const problem *p = self;
    const char letter = (char)('a' + action);
    if (action == p->actions - 1) return rill_fail(out->ctx, RILL_ERR_NOT_FOUND, "the end action has no letter");
    return rill_text_append(out, &letter, 1);
}

static int32_t find_action(void *self, const char *text, size_t length)
{
    const problem *p = self;
    return length == 1 && text[0] >= 'a' && text[0] < 'a' + p->actions - 1 ? text[0] - 'a' : RILL_NO_ACTION;
}

static rill_status finalize(void *self, const rill_hypothesis *hypothesis, rill_text *out)
{
    const problem *p = self;
    for (int32_t i = 0; i < hypothesis->length; i++)
        if (hypothesis->action[i] != p->actions - 1)
            TRY(rill_text_printf(out, "%s%c", i > 0 ? " " : "", 'a' + (int)hypothesis->action[i]));
    return RILL_OK;
}

const rill_domain cli_check_problem = {
    .abi_version = RILL_ABI_VERSION,
    .struct_size = sizeof(rill_domain),
    .name = CLI_CHECK_PROBLEM,
    .summary = "a tiny random problem",
    .open = open_problem,
    .reserve = reserve,
    .encode = encode,
    .step = step,
    .score = score,
    .finalize = finalize,
    .close = close_problem,
    .action_name = action_name,
    .find_action = find_action,
};
