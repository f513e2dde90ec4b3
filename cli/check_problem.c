/* The random problem; see check_problem.h. */
#include "check_problem.h"

#include <stdlib.h>

enum { MIN_PROBLEM_ACTIONS = 5, MAX_PROBLEM_ACTIONS = 12, MAX_PROBLEM_LENGTH = 9 };

/* Actions are letters. The last action ends an output. */
typedef struct problem {
    rill_context *ctx;
    uint64_t seed;
    int32_t actions;
    uint64_t *node; /* [nodes] hash of a state's input and actions */
    uint64_t *slot; /* [slots] hash of a slot's input */
    size_t nodes, slots;
} problem;

static void close_problem(void *self)
{
    problem *p = self;
    if (!p) return;
    rill_free(p->ctx, p->node, p->nodes * sizeof *p->node);
    rill_free(p->ctx, p->slot, p->slots * sizeof *p->slot);
    rill_free(p->ctx, p, sizeof *p);
}

static rill_status open_problem(const rill_domain *table, rill_context *ctx, const rill_open_options *options,
                                void **self, rill_domain_info *info)
{
    (void)table;
    problem *p = rill_calloc(ctx, 1, sizeof *p);
    if (!p) return rill_fail_memory(ctx, sizeof *p, "the problem");
    p->ctx = ctx;
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
    rill_status status = rill_grow(p->ctx, (void **)&p->node, &p->nodes, (size_t)nodes, sizeof *p->node, "states");
    return status < 0 ? status
                      : rill_grow(p->ctx, (void **)&p->slot, &p->slots, (size_t)slots, sizeof *p->slot, "inputs");
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
    rill_status status = RILL_OK;
    for (int32_t i = 0; i < hypothesis->length && status == RILL_OK; i++)
        if (hypothesis->action[i] != p->actions - 1)
            status = rill_text_printf(out, "%s%c", i > 0 ? " " : "", 'a' + (int)hypothesis->action[i]);
    return status;
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
