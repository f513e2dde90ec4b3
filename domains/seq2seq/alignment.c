/* Alignments: how much each output token attends to each input token, in marian-decoder's formats.
 *
 * Source: cross-attention of a head trained for alignment, else the mean over the last decoder layer's heads. */
#include <string.h>

#include "seq2seq.h"

/* --- alignment formats -------------------------------------------------------------------------------------------- */

typedef enum alignment_format {
    ALIGNMENT_HARD,      /* per output token: the input token with the largest weight */
    ALIGNMENT_SOFT,      /* per output token: the weights of all input tokens */
    ALIGNMENT_THRESHOLD, /* all pairs of an input token and an action whose weight is above the threshold */
} alignment_format;

typedef struct alignment_form {
    alignment_format kind;
    float threshold;
} alignment_form;

/* Read "alignment", "alignment=hard", "alignment=soft" or "alignment=0.2". "alignment=1" means hard, because no weight
 * is above 1. */
static rill_status read_form(const seq_runner *r, const char *name, alignment_form *out)
{
    static const char key[] = "alignment";
    const size_t length = sizeof key - 1;
    *out = (alignment_form){.kind = ALIGNMENT_HARD};
    if (strncmp(name, key, length) != 0 || (name[length] != '\0' && name[length] != '='))
        return rill_fail(r->ctx, RILL_ERR_OPTION, "%s: outputs have no field \"%.40s\", only alignment",
                         r->model->domain, name);
    const char *value = name[length] != '\0' ? name + length + 1 : "hard";
    char *end;
    if (strcmp(value, "hard") == 0) return RILL_OK;
    if (strcmp(value, "soft") == 0) {
        out->kind = ALIGNMENT_SOFT;
        return RILL_OK;
    }
    out->threshold = (float)rill_read_number(value, &end);
    if (end == value || *end != '\0' || !(out->threshold > 0.0f && out->threshold <= 1.0f))
        return rill_fail(r->ctx, RILL_ERR_OPTION,
                         "alignment: expected hard, soft or a share above 0 and at most 1, found \"%.40s\"", value);
    if (out->threshold < 1.0f) out->kind = ALIGNMENT_THRESHOLD;
    return RILL_OK;
}

/* --- attention of an output --------------------------------------------------------------------------------------- */

/* Compute the attention weights of an output. A token has those of the state that predicted it: the state of the previous token. */
static rill_status compute_alignment(seq_runner *r, const rill_hypothesis *h, seq_alignment *a)
{
    const size_t n = (size_t)h->length, tokens = (size_t)rill_session_units(r->session, h->slot);
    TRY(GROW(&r->arena, r->alignment_column, 5 * n, "an alignment"));
    TRY(GROW(&r->arena, r->alignment_weights, n * tokens, "an alignment"));
    int32_t *column = r->alignment_column;
    *a = (seq_alignment){.n_actions = n,
                         .n_tokens = tokens,
                         .node = column,
                         .action = column + n,
                         .slot = column + 2 * n,
                         .depth = column + 3 * n,
                         .best_tokens = column + 4 * n,
                         .weights = r->alignment_weights};
    for (size_t t = 0; t < n; t++) {
        a->node[t] = t == 0 ? r->root_node[h->slot] : h->node[t - 1];
        a->action[t] = t == 0 ? RILL_ACTION_START : h->action[t - 1];
        a->slot[t] = h->slot;
        a->depth[t] = (int32_t)t;
    }
    return seq_run_alignment(r, a);
}

/* --- writing alignments ------------------------------------------------------------------------------------------- */

/* Write the weights of all input tokens, separated by commas, for each action: "0.5,0.25,0.25 1,0,0". Actions are separated by spaces. */
static rill_status write_soft(const seq_alignment *a, rill_text *out)
{
    for (size_t t = 0; t < a->n_actions; t++)
        for (size_t s = 0; s < a->n_tokens; s++)
            TRY(rill_text_printf(out, "%s%.6g",
                                 s > 0   ? ","
                                 : t > 0 ? " "
                                         : "",
                                 (double)a->weights[t * a->n_tokens + s]));
    return RILL_OK;
}

static void find_best_tokens(const seq_alignment *a)
{
    for (size_t t = 0; t < a->n_actions; t++) {
        const float *share = a->weights + t * a->n_tokens;
        a->best_tokens[t] = 0;
        for (int32_t s = 1; s < (int32_t)a->n_tokens; s++)
            if (share[s] > share[a->best_tokens[t]]) a->best_tokens[t] = s;
    }
}

/* Write pairs of an input token's index and an action's index, in ascending order: "0-0 1-2 1-3". */
static rill_status write_pairs(const seq_alignment *a, const alignment_form *f, rill_text *out)
{
    const size_t old_length = out->length;
    find_best_tokens(a);
    for (size_t s = 0; s < a->n_tokens; s++) {
        for (size_t t = 0; t < a->n_actions; t++) {
            const int paired = f->kind == ALIGNMENT_HARD ? a->best_tokens[t] == (int32_t)s
                                                         : a->weights[t * a->n_tokens + s] > f->threshold;
            if (paired) TRY(rill_text_printf(out, "%s%zu-%zu", out->length > old_length ? " " : "", s, t));
        }
    }
    return RILL_OK;
}

/* --- the output field --------------------------------------------------------------------------------------------- */

rill_status seq_field(void *self, const char *name, const rill_hypothesis *hypothesis, rill_text *out)
{
    seq_runner *r = self;
    alignment_form f;
    seq_alignment a;
    TRY(read_form(r, name, &f));
    if (hypothesis == NULL) return RILL_OK;
    TRY(compute_alignment(r, hypothesis, &a));
    return f.kind == ALIGNMENT_SOFT ? write_soft(&a, out) : write_pairs(&a, &f, out);
}
