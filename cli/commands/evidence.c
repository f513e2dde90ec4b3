/* rill evidence: compute n-gram posteriors from n-best lists or lattices.
 *
 * Ids must ascend, since memory holds one input. Bad lines are reported and skipped. */
#include <math.h>

#include "cli_input.h"
#include "cli_output.h"

enum { LATTICE_FIELDS = 5, MAX_NODES = 1 << 20 };
static const int64_t MAX_ID = 1000000000000000;

/* An edge of a lattice. Its actions are evidence.actions.action[first, first + n). */
typedef struct arc {
    int from, to;
    size_t first;
    int n;
    double score;
} arc;

typedef struct evidence {
    cli_session session;
    const char *input_path, *output_path, *scale_text;
    int ids, lattice;
    double scale;
    cli_input input;
    cli_output output;
    rill_evidence_kind kind;
    rill_evidence_writer *writer;
    rill_ngrams *ngrams;
    int64_t id;      /* id of the current input; -1: none yet */
    int64_t entries; /* number of entries (n-best list) or edges (lattice) of the current input */
    int64_t bad, inputs, without, first_without;
    cli_actions actions; /* actions of the current n-best entry, or of all lattice edges */
    arc *arc;
    size_t n_arcs, arcs_room;
} evidence;

/* --- reading lines ---------------------------------------------------------------------------------------------------- */

static int read_real(const rill_slice *f, double *out)
{
    char text[64], *end;
    if (f->length == 0 || f->length >= sizeof text) return 0;
    memcpy(text, f->data, f->length);
    text[f->length] = '\0';
    *out = rill_read_number(text, &end);
    return end > text && end[strspn(end, " ")] == '\0' && isfinite(*out);
}

static int read_whole(const rill_slice *f, double max, double *out)
{
    return read_real(f, out) && *out >= 0 && *out <= max && *out == floor(*out);
}

static int bad_line(evidence *e, const char *why)
{
    cli_message("line %" PRId64 ": %s: the line is left out", e->input.lines, why);
    e->bad++;
    return CLI_OK;
}

/* Handle an error of the library. If the line caused it, the line is skipped; any other error ends the command. */
static int check_line(evidence *e, rill_status status)
{
    if (status >= 0) return CLI_OK;
    return status == RILL_ERR_INPUT ? bad_line(e, rill_error(e->session.ctx)) : cli_fail_context(e->session.ctx);
}

/* --- n-best lists ----------------------------------------------------------------------------------------------------- */

static int take_entry(evidence *e, const cli_nbest *line)
{
    cli_actions *list = &e->actions;
    double score;
    if (!read_real(&line->field[line->n - 1], &score))
        return bad_line(e, "expected \"ID ||| OUTPUT ||| ... ||| SCORE\"");
    list->n = 0;
    rill_status status = cli_actions_read(list, e->session.model, e->session.ctx, e->ids, line->field[1]);
    const int has_end = list->n > 0 && list->action[list->n - 1] == e->kind.end_action;
    if (status >= 0 && e->kind.end_action >= 0 && !has_end && !line->truncated)
        status = cli_actions_add(list, e->session.ctx, e->kind.end_action);
    if (status >= 0) status = rill_ngrams_entry(e->ngrams, list->action, (int32_t)list->n, score);
    e->entries += status >= 0;
    return check_line(e, status);
}

/* --- lattices --------------------------------------------------------------------------------------------------------- */

static int take_arc(evidence *e, const rill_slice *fields, int n)
{
    const size_t first = e->actions.n;
    double from, to, score;
    if (n != LATTICE_FIELDS || !read_whole(&fields[1], MAX_NODES, &from) || !read_whole(&fields[2], MAX_NODES, &to) ||
        to <= from || !read_real(&fields[4], &score))
        return bad_line(e, "expected \"ID ||| FROM ||| TO ||| TOKEN ||| SCORE\", with FROM < TO");
    rill_status status = cli_actions_read(&e->actions, e->session.model, e->session.ctx, e->ids, fields[3]);
    for (size_t i = first; status >= 0 && i < e->actions.n; i++)
        if (e->actions.action[i] >= e->kind.actions)
            status = rill_fail(e->session.ctx, RILL_ERR_INPUT, "action %d does not exist: the model has %d",
                               (int)e->actions.action[i], (int)e->kind.actions);
    if (status < 0) e->actions.n = first;
    if (status < 0) return check_line(e, status);
    if (e->actions.n == first) return bad_line(e, "the edge has no action");
    if (!cli_grow(&e->arc, &e->arcs_room, e->n_arcs + 1, sizeof *e->arc)) return cli_fail_memory("a lattice");
    e->arc[e->n_arcs++] = (arc){(int)from, (int)to, first, (int)(e->actions.n - first), score};
    e->entries++;
    return CLI_OK;
}

static int compare_arcs(const void *left, const void *right)
{
    const arc *a = left, *b = right;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    return a->first < b->first ? -1 : 1; /* keep the order in which edges were read */
}

/* Add the edges of a lattice; paths end in `last`. place[node]: a node's new number. A word of several tokens gets nodes in between. */
static rill_status add_edges(evidence *e, const int *place, int last)
{
    int between = 0, from = -1, ended = e->kind.end_action >= 0;
    for (size_t i = 0; i < e->n_arcs; i++) {
        const arc *a = &e->arc[i];
        if (a->from != from) between = place[from = a->from] + 1;
        int cursor = place[from];
        for (int j = 0; j < a->n; j++) {
            const int to = j + 1 < a->n ? between++ : place[a->to];
            const int32_t action = e->actions.action[a->first + (size_t)j];
            TRY(rill_ngrams_edge(e->ngrams, cursor, to, action, j ? 0 : a->score));
            cursor = to;
        }
        if (a->to == last) ended = ended && e->actions.action[a->first + (size_t)a->n - 1] == e->kind.end_action;
    }
    if (e->kind.end_action < 0 || ended) return RILL_OK;
    return rill_ngrams_edge(e->ngrams, place[last], place[last] + 1, e->kind.end_action, 0);
}

static rill_status make_lattice(evidence *e)
{
    SCOPED(rill_arena_clear) rill_arena arena = {.ctx = e->session.ctx};
    int nodes = 0, number = 0, *place;
    size_t i = 0;
    qsort(e->arc, e->n_arcs, sizeof *e->arc, compare_arcs);
    for (size_t j = 0; j < e->n_arcs; j++)
        if (e->arc[j].to >= nodes) nodes = e->arc[j].to + 1;
    TRY(rill_arena_alloc(&arena, &place, (size_t)nodes, sizeof *place, "a lattice"));
    for (int node = 0; node < nodes; node++) {
        place[node] = number++;
        for (; i < e->n_arcs && e->arc[i].from == node; i++) number += e->arc[i].n - 1;
    }
    return add_edges(e, place, nodes - 1);
}

/* --- reading inputs --------------------------------------------------------------------------------------------------- */

static void note_without(evidence *e, int64_t first, int64_t n)
{
    if (n > 0 && e->without == 0) e->first_without = first;
    e->without += n;
}

static int end_input(evidence *e)
{
    rill_status status = RILL_OK;
    if (e->id < 0) return CLI_OK;
    if (e->entries > 0) {
        if (e->lattice) status = make_lattice(e);
        if (status >= 0) status = rill_ngrams_finish(e->ngrams, e->scale);
        if (status >= 0) status = rill_evidence_put(e->writer, e->id, e->ngrams);
        if (status < 0 && status != RILL_ERR_INPUT)
            return e->output.error ? CLI_FAILED : cli_fail_context(e->session.ctx);
        if (status < 0) {
            cli_message("input %" PRId64 ": %s", e->id, rill_error(e->session.ctx));
            e->bad++;
        }
    }
    if (e->entries == 0 || status < 0)
        note_without(e, e->id, 1);
    else
        e->inputs++;
    rill_ngrams_begin(e->ngrams);
    e->entries = 0;
    e->actions.n = e->n_arcs = 0;
    return CLI_OK;
}

static int take_line(void *user, const char *line, size_t length, int is_bad)
{
    evidence *e = user;
    cli_nbest list;
    if (is_bad) return bad_line(e, line);
    if (length == 0) return CLI_OK;
    if (!cli_nbest_read(line, length, &list) || list.n < 3 || list.id > MAX_ID)
        return bad_line(e, e->lattice ? "expected \"ID ||| FROM ||| TO ||| TOKEN ||| SCORE\""
                                      : "expected \"ID ||| OUTPUT ||| ... ||| SCORE\"");
    if (list.id < e->id) return bad_line(e, "the id is smaller than the previous one: expected ascending ids");
    if (list.id > e->id) {
        TRY(end_input(e));
        note_without(e, e->id + 1, list.id - e->id - 1);
        e->id = list.id;
    }
    return e->lattice ? take_arc(e, list.field, list.n) : take_entry(e, &list);
}

/* --- the command ------------------------------------------------------------------------------------------------------ */

#define STORED(field) .member = offsetof(evidence, field)
static const cli_option options[] = {
    {"output", 'o', "FILE", "file for the evidence (default: standard output, unless it is a terminal)",
     STORED(output_path)},
    {"scale", 0, "A", "weight each output by exp(A * score) (default 1: scores are log-probabilities)",
     STORED(scale_text)},
    {"ids", 0, "", "outputs and tokens are action ids separated by spaces, in place of texts", STORED(ids)},
    {"lattice", 0, "", "lines are edges of lattices: \"ID ||| FROM ||| TO ||| TOKEN ||| SCORE\"", STORED(lattice)},
    {.name = NULL},
};

static int prepare(evidence *e)
{
    const rill_slice scale = {e->scale_text, e->scale_text ? strlen(e->scale_text) : 0};
    if (e->scale_text && (!read_real(&scale, &e->scale) || e->scale <= 0))
        return cli_fail("--scale: \"%s\" is not a number above 0", e->scale_text);
    rill_context *ctx = e->session.ctx;
    TRY(cli_session_configure(&e->session));
    e->session.workers = 1;
    TRY(cli_input_open(&e->input, ctx, e->input_path, RILL_FILE_STREAM));
    TRY(cli_session_open(&e->session));
    TRY(cli_output_open(&e->output, ctx, e->output_path, CLI_REPORT));
    if (e->output.is_terminal) return cli_fail("evidence is binary and cannot go to a terminal: set -o FILE");
    e->kind.struct_size = sizeof e->kind;
    rill_status status = rill_evidence_kind_for_model(&e->kind, ctx, e->session.model);
    if (status >= 0) status = rill_ngrams_create(&e->ngrams, ctx, &e->kind);
    if (status >= 0) status = rill_evidence_writer_create(&e->writer, ctx, &e->kind, cli_output_bytes, &e->output);
    return cli_exit_code(ctx, status);
}

static int run(void *command)
{
    evidence *e = command;
    int code = prepare(e);
    if (code == CLI_OK) code = cli_input_each(&e->input, take_line, e);
    if (code == CLI_OK) code = end_input(e);
    if (code == CLI_OK && e->inputs == 0) code = cli_fail("%s: the file has no evidence", e->input.name);
    if (code == CLI_OK && rill_evidence_writer_finish(e->writer) < 0) code = CLI_FAILED;
    if (code != CLI_OK && !e->output.error) e->output.is_begun = 0; /* discard the incomplete file */
    const int closed = cli_output_close(&e->output);
    if (code == CLI_OK && closed == CLI_OK && e->without > 0)
        cli_message("warning: %" PRId64 " input%s no evidence; the first is input %" PRId64, e->without,
                    e->without == 1 ? " has" : "s have", e->first_without);
    if (code == CLI_OK) code = closed;
    return code == CLI_OK && e->bad > 0 ? CLI_SOME_FAILED : code;
}

static int start(void *command)
{
    evidence *e = command;
    e->id = -1;
    e->scale = 1;
    return CLI_OK;
}

static void end(void *command)
{
    evidence *e = command;
    rill_evidence_writer_free(e->writer);
    rill_ngrams_free(e->ngrams);
    cli_input_close(&e->input);
    free(e->actions.action);
    free(e->arc);
}

const cli_command cli_evidence = {
    .name = "evidence",
    .summary = "make posteriors of n-grams from n-best lists, for --lmbr",
    .usage = "rill evidence [NBEST] -m DIR -o FILE [options]",
    .groups = {{"Evidence", options},
               {"Model", cli_model_options},
               {"Options of the domain", .rows = CLI_ROWS_DOMAINS}},
    .main_options = "output scale ids lattice model domain tokenized",
    .argument = "n-best list",
    .argument_member = offsetof(evidence, input_path),
    .size = sizeof(evidence),
    .start = start,
    .run = run,
    .end = end,
};
