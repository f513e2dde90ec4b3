/* Alignments: how much each action of an output attends to each token of its input.
 *
 * If no head was trained for alignment, the mean over the heads of the last decoder layer is used: the cross-attention
 * at the time the action was chosen. Nothing is kept for it while decoding. A requested output is run through the
 * layers once more, all positions in one call, over the KV cache still in the tree; so alignments cost nothing unless
 * requested, and no memory per node. Of an ensemble the first model is used, as in marian-decoder, whose formats these
 * are.
 *
 * Divisions: formats · attention of an output · writing · the field. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seq2seq.h"

/* --- forms -------------------------------------------------------------------------------------------------------- */

typedef enum alignment_format {
    ALIGNMENT_HARD,      /* the token each action attends to most */
    ALIGNMENT_SOFT,      /* all weights of each action */
    ALIGNMENT_THRESHOLD, /* all pairs with a larger weight */
} alignment_format;

typedef struct alignment_form {
    alignment_format kind;
    float threshold;
} alignment_form;

/* "alignment", "alignment=hard", "alignment=soft", "alignment=0.2"; 1 is hard, since no weight is larger. */
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

typedef struct alignment {
    size_t n_actions, n_tokens;
    int32_t *node, *action, *slot, *depth; /* [actions] the states in which actions were chosen */
    size_t *best_tokens;                   /* [actions] token */
    float *weights;                        /* [actions, tokens] */
} alignment;

static void carve_alignment(alignment *a, rill_carver *c)
{
    a->node = rill_carve(c, a->n_actions, sizeof *a->node);
    a->action = rill_carve(c, a->n_actions, sizeof *a->action);
    a->slot = rill_carve(c, a->n_actions, sizeof *a->slot);
    a->depth = rill_carve(c, a->n_actions, sizeof *a->depth);
    a->best_tokens = rill_carve(c, a->n_actions, sizeof *a->best_tokens);
    a->weights = rill_carve(c, a->n_actions * a->n_tokens, sizeof *a->weights);
}

/* The state in which an action was chosen is the previous action's; for the first one the item's root node. */
static void list_states(const seq_runner *r, const rill_hypothesis *h, const alignment *a)
{
    for (size_t t = 0; t < a->n_actions; t++) {
        a->node[t] = t == 0 ? r->root_node[h->slot] : h->node[t - 1];
        a->action[t] = t == 0 ? RILL_ACTION_START : h->action[t - 1];
        a->slot[t] = h->slot;
        a->depth[t] = (int32_t)t;
    }
}

static rill_status compute_alignment(seq_runner *r, const rill_hypothesis *h, alignment *a)
{
    rill_carver carver = {0};
    *a = (alignment){.n_actions = (size_t)h->length, .n_tokens = (size_t)rill_session_units(r->session, h->slot)};
    carve_alignment(a, &carver);
    TRY(rill_carve_reserve(r->ctx, &r->alignment, &r->alignment_capacity, &carver));
    carve_alignment(a, &carver);
    list_states(r, h, a);
    return seq_run_alignment(r, &(seq_attention){.n = (int32_t)a->n_actions,
                                                 .node = a->node,
                                                 .slot = a->slot,
                                                 .depth = a->depth,
                                                 .action = a->action,
                                                 .weights = a->weights,
                                                 .stride = a->n_tokens});
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

/* "0.5,0.25,0.25 1,0,0": an action's weights of all tokens, separated by spaces. */
static rill_status write_soft(const alignment *a, rill_text *out)
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

static void find_best_tokens(const alignment *a)
{
    for (size_t t = 0; t < a->n_actions; t++) {
        const float *share = a->weights + t * a->n_tokens;
        a->best_tokens[t] = 0;
        for (size_t s = 1; s < a->n_tokens; s++)
            if (share[s] > share[a->best_tokens[t]]) a->best_tokens[t] = s;
    }
}

/* "0-0 1-2 1-3": token and action, ascending. */
static rill_status write_pairs(const alignment *a, const alignment_form *f, rill_text *out)
{
    const size_t old_length = out->length;
    find_best_tokens(a);
    for (size_t s = 0; s < a->n_tokens; s++) {
        for (size_t t = 0; t < a->n_actions; t++) {
            const int paired = f->kind == ALIGNMENT_HARD ? a->best_tokens[t] == s
                                                         : a->weights[t * a->n_tokens + s] > f->threshold;
            if (paired) TRY(rill_text_printf(out, "%s%zu-%zu", out->length > old_length ? " " : "", s, t));
        }
    }
    return RILL_OK;
}

/* --- the field ---------------------------------------------------------------------------------------------------- */

rill_status seq_field(void *self, const char *name, const rill_hypothesis *hypothesis, rill_text *out)
{
    seq_runner *r = self;
    alignment_form f;
    alignment a;
    TRY(read_form(r, name, &f));
    if (hypothesis == NULL) return RILL_OK;
    TRY(compute_alignment(r, hypothesis, &a));
    return f.kind == ALIGNMENT_SOFT ? write_soft(&a, out) : write_pairs(&a, &f, out);
}
